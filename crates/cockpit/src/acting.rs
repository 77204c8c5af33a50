//! What keys mean: first to what lies on top, then to the place, then anywhere.

use crate::Key;
use crate::answering::Step;
use crate::cockpit::{Cockpit, Effect, Permission, Place};
use crate::overlay::{Act, For, Overlay};
use crate::typing::Line;
use convoke_model::RunStatus;
use convoke_view::Standing;

/// Takes a key.
pub(crate) fn key(cockpit: &mut Cockpit, key: Key) -> Vec<Effect> {
    if key == Key::Leave {
        return vec![Effect::Quit];
    }
    match cockpit.overlay.take() {
        Some(overlay) => over(cockpit, overlay, key),
        None => {
            cockpit.message = None;
            at_place(cockpit, key)
        }
    }
}

/// Takes a text that was pasted. Its line breaks hand nothing in.
pub(crate) fn paste(cockpit: &mut Cockpit, text: &str) {
    let line = match &mut cockpit.overlay {
        Some(Overlay::Typing(_, line)) => Some(line),
        Some(Overlay::Question(answering)) => answering.typed.as_mut(),
        _ => None,
    };
    match line {
        Some(line) => {
            let typed = text.chars().map(|c| if c.is_control() { ' ' } else { c });
            typed.for_each(|c| _ = line.take(Key::Char(c)));
        }
        None => cockpit.say(false, "a pasted text is taken only where words are typed"),
    }
}

fn over(cockpit: &mut Cockpit, overlay: Overlay, key: Key) -> Vec<Effect> {
    match overlay {
        // Any key takes the help away, and does nothing else.
        Overlay::Help => Vec::new(),
        Overlay::Sure(act) => match key {
            Key::Char('y' | 'Y') => vec![effect(act)],
            _ => {
                cockpit.say(true, "nothing was done");
                Vec::new()
            }
        },
        Overlay::Typing(of, line) => typing(cockpit, of, line, key),
        Overlay::Question(mut answering) => {
            let alike = cockpit.alike(&answering.asked);
            match answering.take(key, cockpit.now, &alike) {
                Step::Answers(effects) => effects,
                Step::Leaves => Vec::new(),
                step => {
                    if step == Step::TooSoon {
                        cockpit.say(false, "the text has just changed: read it, then answer");
                    }
                    cockpit.overlay = Some(Overlay::Question(answering));
                    Vec::new()
                }
            }
        }
    }
}

fn effect(act: Act) -> Effect {
    match act {
        Act::Stop { run, now } => Effect::Stop { run, now },
        Act::Resume(run) => Effect::Resume(run),
        Act::Retry { run, task, repeat_effects, .. } => Effect::Retry { run, task, repeat_effects },
    }
}

fn typing(cockpit: &mut Cockpit, of: For, mut line: Line, key: Key) -> Vec<Effect> {
    line.take(key);
    if of == For::Search {
        // Rows follow what is typed at once; leaving takes the word away.
        cockpit.tasks.search = if key == Key::Escape { String::new() } else { line.text.clone() };
        cockpit.tasks.choose();
        if key != Key::Escape && key != Key::Enter {
            cockpit.overlay = Some(Overlay::Typing(of, line));
        }
        return Vec::new();
    }
    match (key, of) {
        (Key::Enter, For::Guidance(run, task)) if !line.text.trim().is_empty() => {
            vec![Effect::Guide { run, task, text: line.text.trim().to_owned() }]
        }
        (Key::Enter | Key::Escape, _) => {
            cockpit.say(true, "nothing was said");
            Vec::new()
        }
        (_, of) => {
            cockpit.overlay = Some(Overlay::Typing(of, line));
            Vec::new()
        }
    }
}

fn at_place(cockpit: &mut Cockpit, key: Key) -> Vec<Effect> {
    match key {
        Key::Char('?') => cockpit.overlay = Some(Overlay::Help),
        Key::Char('1') => return cockpit.switch(Place::Runs),
        Key::Char('2' | 'i') => return cockpit.switch(Place::Inbox),
        Key::Char('3' | 'c') => return cockpit.switch(Place::Capacity),
        Key::Char('q') if cockpit.before.is_empty() => return vec![Effect::Quit],
        Key::Char('q') | Key::Escape | Key::Left | Key::Backspace => return cockpit.back(),
        Key::Enter | Key::Right => return enter(cockpit),
        Key::Char('a') => answer(cockpit),
        Key::Char('s') => stop(cockpit, false),
        Key::Char('S') => stop(cockpit, true),
        Key::Char('r') => resume(cockpit),
        Key::Char('R') => retry(cockpit),
        Key::Char('g') => guide(cockpit),
        Key::Char('/') if matches!(cockpit.place, Place::Run(_)) => {
            cockpit.overlay = Some(Overlay::Typing(For::Search, Line::of(&cockpit.tasks.search)));
        }
        Key::Char('f') => follow(cockpit),
        other => moves(cockpit, other),
    }
    Vec::new()
}

/// `f` shows the tasks of another standing; of a task it follows what grows.
fn follow(cockpit: &mut Cockpit) {
    match cockpit.place {
        Place::Run(_) => {
            cockpit.tasks.filter = cockpit.tasks.filter.next();
            cockpit.tasks.choose();
        }
        Place::Task(..) => {
            let (lines, height) = cockpit.page;
            cockpit.scroll = match cockpit.scroll {
                Some(_) => None,
                None => Some(lines.saturating_sub(height)),
            };
        }
        _ => {}
    }
}

fn moves(cockpit: &mut Cockpit, key: Key) {
    let page = cockpit.height.max(2) as isize - 1;
    let by = match key {
        Key::Up | Key::Char('k') => -1,
        Key::Down | Key::Char('j') => 1,
        Key::PageUp => -page,
        Key::PageDown | Key::Char(' ') => page,
        Key::Home => isize::MIN,
        Key::End | Key::Char('G') => isize::MAX,
        _ => return,
    };
    if let Place::Task(..) = cockpit.place {
        return scroll(cockpit, by);
    }
    let (cursor, length) = match cockpit.place {
        Place::Runs => (&mut cockpit.runs_cursor, cockpit.runs.runs.len()),
        Place::Inbox => (&mut cockpit.inbox_cursor, cockpit.runs.questions.len()),
        Place::Capacity => {
            (&mut cockpit.capacity_cursor, cockpit.capacity.as_ref().map_or(0, |seen| seen.limits.len()))
        }
        _ => {
            let length = cockpit.tasks.shown().len();
            (&mut cockpit.tasks.cursor, length)
        }
    };
    match by {
        isize::MIN => cursor.jump_to_start(),
        isize::MAX => cursor.jump_to_end(length),
        by => cursor.step(by, length),
    }
}

fn scroll(cockpit: &mut Cockpit, by: isize) {
    let (lines, height) = cockpit.page;
    let last = lines.saturating_sub(height);
    let at = cockpit.scroll.unwrap_or(last);
    let to = at.saturating_add_signed(by).min(last);
    // At the end what grows is followed, as long as nobody scrolls away.
    cockpit.scroll = (to < last || by < 0).then_some(to);
}

fn enter(cockpit: &mut Cockpit) -> Vec<Effect> {
    match &cockpit.place {
        Place::Runs => match cockpit.chosen_run().cloned() {
            Some(run) => cockpit.open(Place::Run(run)),
            None => Vec::new(),
        },
        Place::Run(run) => match cockpit.tasks.chosen() {
            Some(row) => {
                let place = Place::Task(run.clone(), row.task.clone());
                cockpit.open(place)
            }
            None => Vec::new(),
        },
        Place::Inbox => {
            answer(cockpit);
            Vec::new()
        }
        Place::Capacity | Place::Task(..) => Vec::new(),
    }
}

/// Whether decisions are taken from here; where they are not, it is said.
fn may(cockpit: &mut Cockpit) -> bool {
    match cockpit.permission.clone() {
        Permission::Given => true,
        Permission::Refused(why) => {
            cockpit.say(false, why);
            false
        }
    }
}

fn answer(cockpit: &mut Cockpit) {
    match cockpit.chosen_question().cloned() {
        Some(asked) if may(cockpit) => cockpit.ask(asked),
        Some(_) => {}
        None => cockpit.say(false, "nothing is asked here"),
    }
}

fn stop(cockpit: &mut Cockpit, now: bool) {
    let Some(run) = cockpit.chosen_run().cloned() else { return cockpit.say(false, "no run is chosen") };
    if may(cockpit) {
        cockpit.overlay = Some(Overlay::Sure(Act::Stop { run, now }));
    }
}

fn resume(cockpit: &mut Cockpit) {
    let Some(run) = cockpit.chosen_run().cloned() else { return cockpit.say(false, "no run is chosen") };
    let line = cockpit.runs.runs.iter().find(|line| line.run == run);
    let (is_live, status) = line.map_or((false, None), |line| (line.live, Some(line.status)));
    if is_live {
        return cockpit.say(false, "a process drives the run already");
    }
    if status == Some(RunStatus::Succeeded) {
        return cockpit.say(false, "the run has succeeded: R on a task does that task again");
    }
    if may(cockpit) {
        cockpit.overlay = Some(Overlay::Sure(Act::Resume(run)));
    }
}

fn retry(cockpit: &mut Cockpit) {
    let is_run = matches!(cockpit.place, Place::Run(_) | Place::Task(..));
    let (Some(run), Some(task), true) = (cockpit.chosen_run().cloned(), cockpit.chosen_task(), is_run) else {
        return cockpit.say(false, "open a run and choose a task first");
    };
    let has_ended = cockpit.tasks.of(&task).is_some_and(|row| row.standing.is_end());
    if cockpit.run.as_ref().is_some_and(|seen| seen.live) {
        return cockpit.say(false, "a process drives the run; it retries by the rules of its file");
    }
    if !has_ended {
        return cockpit.say(false, format!("`{task}` has not ended: the key r resumes the run"));
    }
    if may(cockpit) {
        let act = Act::Retry { run, task, repeat_effects: false, effects: None };
        cockpit.overlay = Some(Overlay::Sure(act));
    }
}

/// Words to the chosen task; in the list of runs, to the goals of the run.
fn guide(cockpit: &mut Cockpit) {
    let Some(run) = cockpit.chosen_run().cloned() else { return cockpit.say(false, "no run is chosen") };
    let task = match cockpit.place {
        Place::Runs | Place::Inbox => None,
        _ => cockpit.chosen_task(),
    };
    let ended = task.as_ref().and_then(|task| cockpit.tasks.of(task)).map(|row| row.standing);
    if let (Some(task), Some(standing)) = (&task, ended.filter(|standing: &Standing| standing.is_end())) {
        return cockpit
            .say(false, format!("`{task}` has ended ({}): no turn of it follows", standing.word()));
    }
    if may(cockpit) {
        cockpit.overlay = Some(Overlay::Typing(For::Guidance(run, task), Line::default()));
    }
}
