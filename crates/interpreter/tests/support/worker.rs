//! A worker for the tests. It can also be started where a part of its sandbox is missing, and afterwards try what
//! workers must not do.

use seccompiler::{SeccompAction, SeccompFilter};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    match task.as_str() {
        "without-seccomp" => forbid(&[libc::SYS_seccomp]),
        "without-landlock" => forbid(&[libc::SYS_landlock_create_ruleset]),
        // With no limit on descriptors, which comes before Landlock's answer.
        "without-seccomp-and-limits" => forbid(&[libc::SYS_seccomp, libc::SYS_prlimit64]),
        "without-limits" => forbid(&[libc::SYS_prlimit64]),
        "silent" => return silent(),
        "nonsense" => return nonsense(),
        "liar" => return liar(),
        _ => {}
    }
    let code = convoke_interpreter::worker::serve();
    if ["then-try", "without-landlock", "without-seccomp-and-limits"].contains(&task.as_str()) {
        attempt_all();
    }
    code
}

/// Makes the kernel refuse these system calls, as an old one or a container would.
fn forbid(calls: &[libc::c_long]) {
    let rules: BTreeMap<i64, Vec<_>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().expect("an architecture that has seccomp");
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32), arch);
    let program: seccompiler::BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
    seccompiler::apply_filter(&program).expect("the filter is put on");
}

/// A worker that never says anything.
fn silent() -> ExitCode {
    loop {
        std::thread::park();
    }
}

/// A worker that says something else than was agreed.
fn nonsense() -> ExitCode {
    let mut stdout = std::io::stdout();
    stdout.write_all(&[255; 64]).and_then(|()| stdout.flush()).expect("the host listens");
    silent()
}

/// A worker that was taken over: it claims to be confined, and calls what its program was not given.
fn liar() -> ExitCode {
    hear();
    say(r#"{"ready":{"version":3,"sandbox":{"seccomp":true,"landlock":null,"limits":true,"missing":[]}}}"#);
    hear();
    say(r#"{"call":{"call":1,"function":"secret","args":[],"kwargs":{},"printed":{"text":"","cut":0}}}"#);
    silent()
}

fn hear() {
    let mut prefix = [0; 8];
    std::io::stdin().read_exact(&mut prefix).expect("the host speaks");
    let length = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]);
    std::io::stdin().read_exact(&mut vec![0; length as usize]).expect("the host speaks");
}

fn say(report: &str) {
    let mut bytes = u64::try_from(report.len()).expect("it is short").to_le_bytes().to_vec();
    bytes.extend_from_slice(report.as_bytes());
    let mut stdout = std::io::stdout();
    stdout.write_all(&bytes).and_then(|()| stdout.flush()).expect("the host listens");
}

/// Tries what needs permission, in the thread that was confined, and says how each attempt went.
fn attempt_all() {
    let mut stderr = std::io::stderr();
    for (name, attempt) in ATTEMPTS {
        let outcome = if attempt() < 0 { std::io::Error::last_os_error().raw_os_error() } else { None };
        let outcome = outcome.map_or("done".into(), |error| error.to_string());
        stderr.write_all(format!("{name} {outcome}\n").as_bytes()).expect("the host listens");
    }
}

type Attempt = fn() -> i64;

/// Raw system calls, as a program that took over the worker would use, but with arguments that do no harm where nothing
/// holds them back: they fail for another reason then.
const ATTEMPTS: &[(&str, Attempt)] = &[
    ("read_file", || call(libc::SYS_openat, [at(), text(c"/etc/passwd"), 0, 0])),
    ("list_folder", || call(libc::SYS_openat, [at(), text(c"/"), libc::O_DIRECTORY as i64, 0])),
    ("tcp", connect),
    ("udp", || call(libc::SYS_socket, [libc::AF_INET as i64, libc::SOCK_DGRAM as i64, 0, 0])),
    ("unix", || call(libc::SYS_socket, [libc::AF_UNIX as i64, libc::SOCK_STREAM as i64, 0, 0])),
    ("make_file", || call(libc::SYS_openat, [at(), text(c"/nonexistent/x"), libc::O_CREAT as i64, 0o600])),
    ("fork", || call(libc::SYS_clone, [libc::CLONE_THREAD as i64, 0, 0, 0])),
    ("exec", || call(libc::SYS_execve, [text(c"/nonexistent"), 0, 0, 0])),
    ("signal", || call(libc::SYS_kill, [parent(), 0, 0, 0])),
    ("trace", || call(libc::SYS_ptrace, [libc::PTRACE_CONT as i64, parent(), 0, 0])),
    ("memory_of_others", || call(libc::SYS_process_vm_readv, [parent(), 0, 0, 0])),
    ("executable_memory", || {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        call(libc::SYS_mmap, [0, 4096, protection as i64, flags as i64])
    }),
    ("memory_file", || call(libc::SYS_memfd_create, [text(c"x"), 0, 0, 0])),
    ("raise_limits", || call(libc::SYS_prlimit64, [0, libc::RLIMIT_AS as i64, 0, 0])),
    ("io_uring", || call(libc::SYS_io_uring_setup, [1, 0, 0, 0])),
    ("bpf", || call(libc::SYS_bpf, [0, 0, 0, 0])),
    ("namespace", || call(libc::SYS_unshare, [libc::CLONE_NEWUSER as i64, 0, 0, 0])),
];

fn call(number: libc::c_long, [a, b, c, d]: [i64; 4]) -> i64 {
    // SAFETY: pointers are null or to constant text; what the calls do if they are allowed is the point.
    unsafe { libc::syscall(number, a, b, c, d, -1, 0) }
}

fn at() -> i64 {
    i64::from(libc::AT_FDCWD)
}

fn text(text: &'static std::ffi::CStr) -> i64 {
    text.as_ptr() as i64
}

fn parent() -> i64 {
    i64::from(std::os::unix::process::parent_id())
}

fn connect() -> i64 {
    let socket = call(libc::SYS_socket, [libc::AF_INET as i64, libc::SOCK_STREAM as i64, 0, 0]);
    if socket < 0 {
        return socket;
    }
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: 9u16.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&address) as i64;
    call(libc::SYS_connect, [socket, &raw const address as i64, length, 0])
}
