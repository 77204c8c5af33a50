//! Texts that a person types unseen: passphrases, and values for the vault.
//!
//! They come from the terminal, or from a file or a descriptor that the person names. Never from an argument or a variable, which other
//! processes can read.

use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_secrets::private::{self, Refused};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::{ExposeSecret, SecretString};
use std::fs::File;
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The longest line that is typed.
const LONGEST: usize = 4096;

/// Ctrl-C.
const INTERRUPT: u8 = 3;
/// Ctrl-D.
const END: u8 = 4;
/// Backspace, in both ways of terminals.
const ERASE: [u8; 2] = [8, 127];

/// Asks once: the named file, or the terminal.
pub fn ask(config: &Config, prompt: &str) -> Result<SecretString, CommandFailure> {
    match &config.vault_passphrase {
        Some(path) => {
            let bytes = private::given(path, LONGEST).map_err(|why| {
                let message = format!("the passphrase in `{}`: {why}", path.display());
                let failure = CommandFailure::new(Exit::Refused, message);
                match why {
                    Refused::Open(_) => {
                        failure.hint(format!("`chmod 600 {}` keeps it to yourself", path.display()))
                    }
                    _ => failure,
                }
            })?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            not_empty(text.lines().next().unwrap_or_default())
        }
        None => not_empty(&typed(prompt)?),
    }
}

/// Asks twice where a person types: a slip would close the vault for good.
pub fn ask_twice(config: &Config, prompt: &str) -> Result<SecretString, CommandFailure> {
    let first = ask(config, prompt)?;
    if config.vault_passphrase.is_none() && *typed("once more: ")? != *first.expose_secret() {
        return Err(CommandFailure::new(Exit::Usage, "the two are not the same"));
    }
    Ok(first)
}

fn not_empty(text: &str) -> Result<SecretString, CommandFailure> {
    match text {
        "" => Err(CommandFailure::new(Exit::Refused, "the passphrase is empty")),
        text => Ok(SecretString::from(text.to_owned())),
    }
}

/// A line that is typed at the terminal of this process, unseen.
pub fn typed(prompt: &str) -> Result<Zeroizing<String>, CommandFailure> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").map_err(|_| no_terminal())?;
    let silent = Silent::on(&terminal).ok_or_else(no_terminal)?;
    (&terminal).write_all(prompt.as_bytes())?;
    let line = read_line(&terminal);
    drop(silent);
    (&terminal).write_all(b"\n")?;
    line.ok_or_else(|| CommandFailure::new(Exit::Interrupted, "nothing was typed"))
}

fn no_terminal() -> CommandFailure {
    CommandFailure::new(Exit::Refused, "a passphrase is asked for at a terminal, and there is none")
        .hint(
            "--vault-passphrase-file FILE reads it from a file (mode 0600), or from a descriptor: /dev/fd/3",
        )
        .hint("a vault that opens with a key file asks nothing: convoke secrets init --identity FILE")
}

/// Byte by byte, because the terminal hands over each key: with Ctrl-C it is restored before anything ends.
fn read_line(mut terminal: &File) -> Option<Zeroizing<String>> {
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    loop {
        let mut byte = [0];
        if terminal.read(&mut byte).ok()? == 0 {
            return None;
        }
        match byte[0] {
            INTERRUPT => return None,
            END if line.is_empty() => return None,
            b'\n' | b'\r' | END => break,
            byte if ERASE.contains(&byte) => erase(&mut line),
            byte if line.len() < LONGEST => line.push(byte),
            _ => return None,
        }
    }
    std::str::from_utf8(&line).ok().map(|text| Zeroizing::new(text.to_owned()))
}

/// One character, of as many bytes as it has.
fn erase(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
}

/// A terminal that shows nothing, until this is dropped.
struct Silent<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn on(terminal: &'a File) -> Option<Silent<'a>> {
        let before = tcgetattr(terminal).ok()?;
        let mut silent = before.clone();
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &silent).ok()?;
        Some(Silent { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        tcsetattr(self.terminal, OptionalActions::Flush, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_erased_as_a_whole() {
        let mut line = "aé".as_bytes().to_vec();
        erase(&mut line);
        assert_eq!(line, b"a");
        erase(&mut line);
        erase(&mut line);
        assert!(line.is_empty());
    }
}
