//! A command, ready to be executed by a process that may neither allocate nor lock.
//!
//! It has the variables that were set on it and no others. A program without a slash is looked for as `execvp` does, in its
//! own `PATH`; a text file without an interpreter line is given to the shell.

use std::ffi::{CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::{io, ptr};

/// Where programs are looked for if no `PATH` says so.
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";

/// A command in the form that the kernel takes.
pub struct Exec {
    /// Where the program may be, in order.
    candidates: Vec<CString>,
    // The texts that the lists below point to.
    _texts: Vec<CString>,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    /// The arguments of a shell that is to read the program: its own name, room for the program's, the rest.
    for_shell: Vec<*const c_char>,
}

// SAFETY: the pointers lead to texts that this value owns, that never change, and that do not move with it.
unsafe impl Send for Exec {}
// SAFETY: as above; `run` is the only one that writes, in a process of its own.
unsafe impl Sync for Exec {}

impl Exec {
    /// Fails if a text holds a NUL.
    pub fn of(command: &Command) -> io::Result<Exec> {
        let program = text(command.get_program().as_bytes())?;
        let mut arguments = vec![program.clone()];
        for argument in command.get_args() {
            arguments.push(text(argument.as_bytes())?);
        }
        let mut variables = Vec::new();
        let set = || command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in set() {
            variables.push(text(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
        let path = set().find(|(name, _)| *name == OsStr::new("PATH")).map(|(_, value)| value.as_bytes());
        let candidates = candidates(program.as_bytes(), path.unwrap_or(USUAL_PATH))?;
        let (arguments_at, variables_at) = (pointers(&arguments), pointers(&variables));
        let for_shell = [&[c"/bin/sh".as_ptr(), ptr::null()], &arguments_at[1..]].concat();
        let texts = arguments.into_iter().chain(variables).collect();
        Ok(Exec { candidates, _texts: texts, arguments: arguments_at, variables: variables_at, for_shell })
    }

    /// Becomes the command; comes back with the error number if that cannot be.
    ///
    /// # Safety
    /// The process is given up for this, and no other code uses this value meanwhile.
    pub unsafe fn run(&self) -> i32 {
        let mut error = libc::ENOENT;
        for candidate in &self.candidates {
            let program = candidate.as_ptr();
            // SAFETY: the lists end with a null pointer and lead to texts that end with a NUL.
            unsafe { libc::execve(program, self.arguments.as_ptr(), self.variables.as_ptr()) };
            match last_error() {
                // SAFETY: as above; the list is ours alone, so the program's name may be put into it.
                libc::ENOEXEC => unsafe {
                    self.for_shell.as_ptr().cast_mut().add(1).write(program);
                    libc::execve(c"/bin/sh".as_ptr(), self.for_shell.as_ptr(), self.variables.as_ptr());
                    return last_error();
                },
                // Another one may be allowed; if none is, that is the reason.
                libc::EACCES => error = libc::EACCES,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                other => return other,
            }
        }
        error
    }
}

fn candidates(program: &[u8], path: &[u8]) -> io::Result<Vec<CString>> {
    match program {
        [] => Ok(Vec::new()),
        program if program.contains(&b'/') => Ok(vec![text(program)?]),
        program => {
            let folders = path.split(|byte| *byte == b':');
            // An empty entry is the current folder.
            let named = folders.map(|folder| if folder.is_empty() { &b"."[..] } else { folder });
            named.map(|folder| text(&[folder, b"/", program].concat())).collect()
        }
    }
}

fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a text holds a NUL byte"))
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}
