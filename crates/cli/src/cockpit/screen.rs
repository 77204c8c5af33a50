//! The terminal of the cockpit: raw, on its other screen, and given back whatever happens.

use super::Happened;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stdio;
use convoke_cockpit::draw::{Theme, draw};
use convoke_cockpit::{Cockpit, Input, Key};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, read,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use std::io::{self, IsTerminal, Stdout};
use std::sync::mpsc::Sender;

/// Refuses where there is no terminal to draw on or to hear keys from.
pub(super) fn require() -> Result<(), CommandFailure> {
    let is_dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
    if stdio::out_is_terminal() && io::stdin().is_terminal() && !is_dumb {
        return Ok(());
    }
    let words = "`convoke top` needs a terminal that it can draw on and hear keys from";
    Err(CommandFailure::new(Exit::Usage, words)
        .hint("`convoke runs`, `convoke show RUN` and `convoke answer RUN` print the same; `convoke serve` shows it in a browser"))
}

/// The terminal, taken.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let opened = (|| {
            execute!(stdio::window(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
            Terminal::new(CrosstermBackend::new(stdio::window()))
        })();
        match opened {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws the model as it is.
    pub fn draw(&mut self, cockpit: &mut Cockpit, theme: Theme) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, cockpit, theme)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    disable_raw_mode().ok();
    execute!(stdio::window(), DisableBracketedPaste, cursor::Show, LeaveAlternateScreen).ok();
}

/// Sends keys from a thread of its own, which ends with the terminal or with the program.
pub(super) fn keys(sender: Sender<Happened>) -> io::Result<()> {
    let listen = move || {
        loop {
            let happened = match read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => match meant(key) {
                    Some(key) => Happened::Input(Input::Key(key)),
                    None => continue,
                },
                Ok(Event::Paste(text)) => Happened::Input(Input::Paste(text)),
                Ok(Event::Resize(..)) => Happened::Resized,
                Ok(_) => continue,
                Err(_) => Happened::Ended,
            };
            let is_over = matches!(happened, Happened::Ended);
            if sender.send(happened).is_err() || is_over {
                return;
            }
        }
    };
    std::thread::Builder::new().name("keys".to_owned()).spawn(listen).map(drop)
}

/// The key that is meant; `None` for those that mean nothing here.
fn meant(key: KeyEvent) -> Option<Key> {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if with_control => Key::Leave,
        KeyCode::Char('f') if with_control => Key::PageDown,
        KeyCode::Char('b') if with_control => Key::PageUp,
        KeyCode::Char(_) if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            return None;
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
