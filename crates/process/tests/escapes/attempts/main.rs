//! Tries one thing that a sandbox has to hold. `NAME KEY=VALUE...`: exit code 0 if it could be done, 1 if it was held.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "a program for tests")]

mod files;
mod kernel;
mod names;
mod network;
mod others;
mod resources;
mod secrets;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

/// Where everything is that is not to be reached.
pub struct Scene(HashMap<String, String>);

impl Scene {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }
    fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.text(key))
    }
    fn number(&self, key: &str) -> i32 {
        self.text(key).parse().unwrap_or_default()
    }
}

/// Done, or why not.
pub type Outcome = io::Result<()>;
pub type Attempt = (&'static str, fn(&Scene) -> Outcome);

/// The outcome of a system call.
pub fn call(result: impl Into<i64>) -> io::Result<i64> {
    match result.into() {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// The outcome of one that fails for another reason once it is allowed.
pub fn allowed(result: i64, otherwise: i32) -> Outcome {
    let error = io::Error::last_os_error();
    if result >= 0 || error.raw_os_error() == Some(otherwise) { Ok(()) } else { Err(error) }
}

pub fn text(path: &std::path::Path) -> std::ffi::CString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    let pairs =
        args.filter_map(|pair| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())));
    let scene = Scene(pairs.collect());
    let all = [files::ALL, secrets::ALL, network::ALL, others::ALL, kernel::ALL, resources::ALL, names::ALL];
    let Some((_, attempt)) = all.into_iter().flatten().find(|(known, _)| *known == name) else {
        eprintln!("no such attempt: {name}");
        std::process::exit(2);
    };
    match attempt(&scene) {
        Ok(()) => println!("done"),
        Err(error) => {
            println!("held: {error}");
            std::process::exit(1);
        }
    }
}
