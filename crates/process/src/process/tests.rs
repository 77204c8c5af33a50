use super::*;
use std::process::Command;

/// A process that becomes another program again and again is known by its mark at every moment.
#[test]
fn a_process_has_its_mark_while_it_becomes_another_program() {
    let script = "exec sh -c \"$0\" \"$0\"";
    let mut child = Command::new("sh").args(["-c", script, script]).env(MARK, "here").spawn().unwrap();
    let pid = Pid::from_child(&child);
    let marks: Vec<_> = (0..2000).map(|_| Process::find(pid).unwrap().mark()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let others: Vec<_> = marks.iter().filter(|mark| mark.as_deref() != Some("here")).collect();
    assert!(others.is_empty(), "{others:?}");
}
