//! Styles, with or without colours. Without them bold, dim and reversed are left, and every state has its sign and its word.

use convoke_model::RunStatus;
use convoke_view::Standing;
use ratatui::style::{Color, Modifier, Style};

/// How things look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether there are colours.
    pub colors: bool,
}

impl Theme {
    fn color(self, color: Color) -> Style {
        if self.colors { Style::new().fg(color) } else { Style::new() }
    }

    /// Plain text.
    pub fn plain(self) -> Style {
        Style::new()
    }

    /// What matters less.
    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What matters more.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The chosen row.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What went well.
    pub fn good(self) -> Style {
        self.color(Color::Green)
    }

    /// What went wrong.
    pub fn bad(self) -> Style {
        self.color(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What wants a person.
    pub fn ask(self) -> Style {
        self.color(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// What is at work. Blue, which is told apart from red and green by everybody.
    pub fn work(self) -> Style {
        self.color(Color::Cyan)
    }

    /// The sign of a task's standing, and its style.
    pub fn standing(self, standing: Standing) -> (&'static str, Style) {
        match standing {
            Standing::Waiting => ("○", self.dim()),
            Standing::Blocked => ("◌", self.ask()),
            Standing::Running => ("◐", self.work()),
            Standing::Done => ("●", self.good()),
            Standing::Failed => ("✕", self.bad()),
            Standing::Asks => ("?", self.ask()),
            Standing::Skipped => ("⊘", self.dim()),
            Standing::Cancelled => ("⊗", self.dim()),
            Standing::Retrying => ("↻", self.ask()),
            Standing::Interrupted => ("◇", self.ask()),
        }
    }

    /// The sign of a run's status, and its style.
    pub fn status(self, status: RunStatus) -> (&'static str, Style) {
        match status {
            RunStatus::Running => ("◐", self.work()),
            RunStatus::Parked => ("?", self.ask()),
            RunStatus::Blocked => ("◌", self.ask()),
            RunStatus::Interrupted => ("◇", self.ask()),
            RunStatus::Succeeded => ("●", self.good()),
            RunStatus::Partial => ("◒", self.ask()),
            RunStatus::Failed => ("✕", self.bad()),
            RunStatus::SkippedAll => ("⊘", self.dim()),
            RunStatus::Cancelled => ("⊗", self.dim()),
        }
    }
}
