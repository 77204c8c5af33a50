//! The tasks of the run that is open: a copy of the fold's rows, kept up by what has changed, and which of them are shown.
//!
//! Rows keep their places, so a change costs as much as it is long; which rows are shown is counted anew when rows or the filter change, and
//! only a screenful of them is ever drawn.

use crate::cursor::Cursor;
use crate::seen::RunSeen;
use convoke_model::TaskId;
use convoke_view::{Row, Standing};
use std::collections::HashMap;

/// Which tasks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// All.
    #[default]
    All,
    /// Those that have not ended.
    Open,
    /// Those at work.
    Running,
    /// Those that failed, or are tried again.
    Failed,
    /// Those that wait for a person, for capacity, or for a moment.
    Waiting,
}

impl Filter {
    /// The next one.
    pub fn next(self) -> Filter {
        match self {
            Filter::All => Filter::Open,
            Filter::Open => Filter::Running,
            Filter::Running => Filter::Failed,
            Filter::Failed => Filter::Waiting,
            Filter::Waiting => Filter::All,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Filter::All => "all",
            Filter::Open => "open",
            Filter::Running => "running",
            Filter::Failed => "failed",
            Filter::Waiting => "waiting",
        }
    }

    fn takes(self, standing: Standing) -> bool {
        use Standing::*;
        match self {
            Filter::All => true,
            Filter::Open => !standing.is_end(),
            Filter::Running => standing == Running,
            Filter::Failed => matches!(standing, Failed | Retrying | Interrupted),
            Filter::Waiting => matches!(standing, Asks | Blocked | Waiting),
        }
    }
}

/// The tasks of one run.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    rows: Vec<Option<Row>>,
    shown: Vec<usize>,
    /// Which are shown.
    pub filter: Filter,
    /// A word that they must have.
    pub search: String,
    /// The chosen one among those that are shown.
    pub cursor: Cursor,
    /// What tasks do at this moment.
    pub doing: HashMap<TaskId, String>,
}

impl Tasks {
    /// Takes what has changed.
    pub fn take(&mut self, seen: &mut RunSeen) {
        if seen.is_whole {
            self.rows.clear();
        }
        let has_changed = seen.is_whole || !seen.rows.is_empty();
        for (place, row) in std::mem::take(&mut seen.rows) {
            if self.rows.len() <= place {
                self.rows.resize(place + 1, None);
            }
            self.rows[place] = Some(row);
        }
        self.doing = seen.doing.drain(..).collect();
        if has_changed {
            self.choose();
        }
    }

    /// Which are shown, in the order of first sight.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// The row at a place.
    pub fn row(&self, place: usize) -> Option<&Row> {
        self.rows.get(place)?.as_ref()
    }

    /// The chosen row.
    pub fn chosen(&self) -> Option<&Row> {
        self.row(*self.shown.get(self.cursor.at)?)
    }

    /// The row of a task.
    pub fn of(&self, task: &TaskId) -> Option<&Row> {
        self.rows.iter().flatten().find(|row| row.task == *task)
    }

    /// Counts anew which are shown; the chosen one stays chosen where it is still there.
    pub fn choose(&mut self) {
        let chosen = self.shown.get(self.cursor.at).copied();
        let word = self.search.to_lowercase();
        let is_wanted = |row: &Row| {
            !row.gone
                && self.filter.takes(row.standing)
                && (word.is_empty() || row.task.0.to_lowercase().contains(&word))
        };
        let places = self.rows.iter().enumerate();
        let places = places.filter(|(_, row)| row.as_ref().is_some_and(is_wanted)).map(|(place, _)| place);
        self.shown = places.collect();
        let place = chosen.and_then(|chosen| self.shown.binary_search(&chosen).ok());
        self.cursor.follow(place, self.shown.len());
    }
}
