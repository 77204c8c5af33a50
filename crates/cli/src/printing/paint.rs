//! Colours, where they are wanted. Nothing is said by colour alone.

use crate::args::ColorChoice;
use crate::{escape, stdio};
use anstyle::{AnsiColor, Effects, Style};

/// Puts colours around words, or does not.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// For standard error, as the user chose.
    pub fn for_stderr(choice: ColorChoice) -> Paint {
        Paint::decide(choice, stdio::err_is_terminal())
    }

    /// For standard output, as the user chose.
    pub fn for_stdout(choice: ColorChoice) -> Paint {
        Paint::decide(choice, stdio::out_is_terminal())
    }

    /// No colours.
    pub const fn off() -> Paint {
        Paint { on: false }
    }

    fn decide(choice: ColorChoice, terminal: bool) -> Paint {
        let refused = crate::env::get_filled(crate::env::NO_COLOR).is_some();
        let dumb = crate::env::get(crate::env::TERM).as_deref() == Some("dumb");
        let on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !refused && !dumb,
        };
        Paint { on }
    }

    /// Whether there are colours.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// Something that went well.
    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// Something that went wrong.
    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().effects(Effects::BOLD), text)
    }

    /// Something to look at.
    pub fn warn(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// Something that helps.
    pub fn advice(self, text: &str) -> String {
        self.with(AnsiColor::Cyan.on_default(), text)
    }

    /// A name or a headline.
    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().effects(Effects::BOLD), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        let (begin, end) = (escape::own(&style.to_string()), escape::own(&format!("{style:#}")));
        format!("{begin}{text}{end}")
    }
}
