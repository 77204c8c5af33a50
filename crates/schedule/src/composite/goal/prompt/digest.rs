//! What a question shows of results that were put together before: digests, parts of results, heads of what could not be
//! put together.
//!
//! Each entry has the fields of a task, so that a template need not know which of them it shows. Invariant: an entry
//! names all the tasks that it is about.

use super::prompt_budget::{self, Room};
use super::proof_word;
use crate::composite::goal::outcome::{reason, status_word};
use crate::composite::goal::planning::answer::words;
use crate::composite::goal::state::GoalState;
use crate::context::part_of;
use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::Piece;
use convoke_model::excerpt::{clipped, headed, read_by};
use convoke_model::synthesis::readable;
use serde_json::{Value as Json, json};

/// Entries, and whose outputs they were cut from, in the order of the names by which they are read on.
#[derive(Debug, Default)]
pub(in crate::composite::goal) struct Pieces {
    pub entries: Vec<Json>,
    pub kept: Vec<TaskIx>,
}

impl View<'_> {
    /// Pieces as prompts show them; what is cut is read by the names after the first so many, where it can be read.
    pub(in crate::composite::goal) fn prompt_pieces(
        &self,
        state: &GoalState<'_>,
        pieces: &[Piece],
        room: Room,
        names: Option<usize>,
    ) -> Pieces {
        let mut shown = Pieces::default();
        for (piece, task) in pieces.iter().filter_map(|piece| Some((piece, self.tasks.find(&piece.task)?))) {
            let entry = match (self.pieces_of(task), self.digest_text(task)) {
                (None, _) => self.result_entry(state, piece, task, room),
                (Some(_), Some(digest)) => {
                    let most = room.longest_digest();
                    let is_cut = prompt_budget::marked(&digest) > most;
                    shown.kept.extend(is_cut.then_some(task));
                    let name = names.map(|names| names + shown.kept.len()).filter(|_| is_cut);
                    let head = prompt_budget::head(&digest, most);
                    let digest = if is_cut { headed(&digest, head, read_by(name)) } else { digest };
                    self.digest_entry(state, task, &digest, room)
                }
                (Some(of), None) => {
                    let heads = self.heads(state, of, (room, names), &mut shown.kept);
                    self.lacking_entry(state, task, &heads, room)
                }
            };
            shown.entries.push(entry);
        }
        shown
    }

    /// The digest of results, with what is wrong with them; `None` where it failed.
    pub(in crate::composite::goal) fn digest_text(&self, task: TaskIx) -> Option<String> {
        if !self.tasks[task].succeeded() || self.pieces_of(task).is_none() {
            return None;
        }
        let said = self.json_of(task);
        let (digest, issues) = (words(&said, "digest"), words(&said, "issues"));
        match (digest.is_empty(), issues.is_empty()) {
            (true, _) => None,
            (false, true) => Some(digest),
            (false, false) => Some(format!("{digest}\n\nIssues: {issues}")),
        }
    }

    fn result_entry(&self, state: &GoalState<'_>, piece: &Piece, task: TaskIx, room: Room) -> Json {
        let about = self.item_of(task).map(|item| room.line(&item.description)).unwrap_or_default();
        let part = piece.part.map(|[number, of]| format!(" (part {} of {of})", number + 1));
        let item = state.find(&piece.task).map(|at| &state.items[at]);
        let summary = match self.tasks[task].succeeded() {
            true => words(&self.json_of(task), "summary"),
            false => item.map(reason).unwrap_or_default(),
        };
        json!({
            "id": state.short(&piece.task), "description": about + part.as_deref().unwrap_or_default(),
            "status": item.map_or("succeeded", status_word), "summary": room.line(&summary), "proof": item.map_or("", proof_word),
            "result": self.result_text(piece, task),
        })
    }

    fn result_text(&self, piece: &Piece, task: TaskIx) -> String {
        let said = self.json_of(task);
        let text =
            said.get("result").filter(|_| self.tasks[task].succeeded()).map(readable).unwrap_or_default();
        match piece.part {
            None => text,
            Some([number, of]) => part_of(&text, number, of).to_owned(),
        }
    }

    /// The heads of what a digest was to be made of, which together take no more room than the digest would have. Of a
    /// digest that failed too, the heads of what lies below it.
    fn heads(
        &self,
        state: &GoalState<'_>,
        of: &[Piece],
        (room, names): (Room, Option<usize>),
        kept: &mut Vec<TaskIx>,
    ) -> String {
        const WORDS: usize = 240;
        let mut below = Vec::new();
        self.add_below(of, &mut below);
        let shown = below.len().min(prompt_budget::HEADS);
        let mut lines = vec![heads_of(below.len(), shown, names.is_some())];
        let mut left = room.digest().saturating_sub(WORDS);
        for number in 0..shown {
            // Spread over all of them: what comes first is worth no more than the rest.
            let (piece, task) = below[number * below.len() / shown];
            let text = self.text_below(piece, task);
            let name = clipped(&self.covered(state, task).0, 40);
            let whole = format!("Task {name}: {text}");
            let room = left / (shown - number);
            let line = match prompt_budget::marked(&whole) <= room {
                true => whole,
                false => {
                    kept.push(task);
                    let read_by = names.map(|names| format!(" (`r{}`)", names + kept.len()));
                    head_line(&format!("Task {name}{}: ", read_by.unwrap_or_default()), &text, room)
                }
            };
            left = left.saturating_sub(prompt_budget::marked(&line));
            lines.push(line);
        }
        lines.join("\n")
    }

    /// What there is of pieces: results, digests, and what lies below digests that failed.
    fn add_below<'p>(&'p self, of: &'p [Piece], found: &mut Vec<(&'p Piece, TaskIx)>) {
        for (piece, task) in of.iter().filter_map(|piece| Some((piece, self.tasks.find(&piece.task)?))) {
            match self.pieces_of(task).filter(|_| self.digest_text(task).is_none()) {
                Some(below) => self.add_below(below, found),
                None => found.push((piece, task)),
            }
        }
    }

    fn text_below(&self, piece: &Piece, task: TaskIx) -> String {
        match self.pieces_of(task) {
            None => self.result_text(piece, task),
            Some(_) => self.digest_text(task).unwrap_or_default(),
        }
    }
}

impl State {
    /// The tasks that a digest is about, by name and number.
    pub(in crate::composite::goal) fn covered(&self, state: &GoalState<'_>, task: TaskIx) -> (String, usize) {
        let mut tasks = Vec::new();
        self.add_covered(task, &mut tasks);
        // Parts of one result stand side by side, here or at the borders of two digests.
        tasks.dedup();
        let names: Vec<&str> = tasks.iter().map(|task| state.short(&self.tasks[*task].id)).collect();
        (ranges(&names), tasks.len())
    }

    fn add_covered(&self, task: TaskIx, tasks: &mut Vec<TaskIx>) {
        match self.pieces_of(task) {
            None => tasks.push(task),
            Some(of) => {
                let of = of.iter().filter_map(|piece| self.tasks.find(&piece.task));
                of.for_each(|task| self.add_covered(task, tasks));
            }
        }
    }

    fn digest_entry(&self, state: &GoalState<'_>, task: TaskIx, digest: &str, room: Room) -> Json {
        let (names, tasks) = self.covered(state, task);
        json!({
            "id": room.note(&names), "description": format!("what {tasks} tasks came to, put together"),
            "status": "put together", "summary": "", "result": digest, "proof": "",
        })
    }

    fn lacking_entry(&self, state: &GoalState<'_>, task: TaskIx, heads: &str, room: Room) -> Json {
        let (names, tasks) = self.covered(state, task);
        let description =
            format!("what {tasks} tasks came to, which could not be put together: only the heads are shown");
        json!({
            "id": room.note(&names), "description": description, "status": "not put together",
            "summary": room.line(&self.why_lacking(task)), "result": heads, "proof": "",
        })
    }

    /// Why a digest failed.
    pub(in crate::composite::goal) fn why_lacking(&self, task: TaskIx) -> String {
        match self.tasks[task].failure.as_deref() {
            Some(failure) => failure.message.clone(),
            None if self.tasks[task].succeeded() => "it was empty".to_owned(),
            None => "it was stopped".to_owned(),
        }
    }
}

/// What the heads that follow are heads of.
fn heads_of(all: usize, shown: usize, reads_on: bool) -> String {
    let further = match all - shown {
        0 => String::new(),
        further => format!("; nothing of {further} others is shown"),
    };
    let how = if reads_on { "; `read_result` reads one whole by the name in brackets" } else { "" };
    format!("The heads of {shown} results, cut where a line ends with …{how}{further}:")
}

/// As much of a text as there is room for behind its name.
fn head_line(name: &str, text: &str, room: usize) -> String {
    let room = room.saturating_sub(name.len() + "…".len());
    format!("{name}{}…", &text[..prompt_budget::head(text, room)])
}

/// Names of tasks, with those that follow one another as one.
fn ranges(names: &[&str]) -> String {
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for name in names {
        match runs.last_mut().filter(|(_, last)| follows(last, name)) {
            Some(run) => run.1 = name,
            None => runs.push((name, name)),
        }
    }
    let word = |(first, last): (&str, &str)| {
        if first == last { first.to_owned() } else { format!("{first}–{last}") }
    };
    runs.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Whether two tasks stand side by side below the same one.
fn follows(one: &str, next: &str) -> bool {
    let split = |name: &str| -> Option<(String, u32)> {
        let (above, number) = name.rsplit_once('/').unwrap_or(("", name));
        Some((above.to_owned(), number.parse().ok()?))
    };
    match (split(one), split(next)) {
        (Some((above, number)), Some((below, later))) => above == below && number + 1 == later,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn tasks_that_follow_one_another_are_named_by_the_first_and_the_last() {
        assert_eq!(ranges(&["1", "2", "3", "5", "7/1", "7/2", "8"]), "1–3, 5, 7/1–7/2, 8");
        assert_eq!(ranges(&["9", "10", "11"]), "9–11");
        assert_eq!(ranges(&[]), "");
    }
}
