//! The list of all runs, and the questions that any of them asks.
//!
//! Rows come from the index of runs, which knows without reading a journal how a run stands. The list has the newest runs; questions are
//! looked for in every run that has not ended, however many were started after it, those that are parked first. The questions of a run are
//! folded on from where they were read last. Every row and question carries the number of the look that changed it last, so that a client
//! is sent what is new to it and nothing else. Nothing is read while no client wants the list.

use crate::host::Host;
use crate::shapes::{LastSteps, Question};
use convoke_journal::{Error, Index, Reader, RunRow, Search, StateDir};
use convoke_model::{Ask, GateId, JsonText, Payload, RunId, RunStatus};
use convoke_view::{Gates, Graph};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The newest runs of the list; older ones are searched for.
const MOST: usize = 500;

/// Runs whose questions are looked for: each costs a look into its journal. Where there are more, the inbox says so.
const MOST_ASKING: usize = 1_000;

/// One run of the list.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub row: RunRow,
    /// Questions that wait.
    pub asks: usize,
    /// By which look it was changed last.
    pub changed: u64,
}

/// One question that waits.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub question: Arc<Question>,
    /// By which look it came.
    pub changed: u64,
}

/// All of it at one moment.
#[derive(Debug, Default)]
pub(crate) struct BoardView {
    /// How often something was new.
    pub version: u64,
    /// The newest runs, newest first.
    pub runs: Vec<Listed>,
    /// The questions of all runs, oldest first.
    pub questions: Vec<Opened>,
    /// Whether there are more runs that have not ended than are looked into.
    pub is_cut: bool,
    /// Runs and questions that are gone, with the look that missed them.
    pub gone: Vec<(u64, Gone)>,
    /// Why the runs cannot be listed.
    pub problem: Option<String>,
}

/// What is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gone {
    Run(RunId),
    /// `RUN/TASK~NUMBER`
    Question(RunId, String),
}

/// What is remembered of things that went.
const MOST_GONE: usize = 2_000;

/// Keeps the list.
pub(crate) struct Board {
    state: StateDir,
    host: Arc<dyn Host>,
    /// Clients that want it as it changes.
    pub listeners: AtomicUsize,
    known: Mutex<BoardState>,
    view: Mutex<Arc<BoardView>>,
}

#[derive(Default)]
struct BoardState {
    index: Option<Index>,
    asking: HashMap<RunId, Asking>,
}

/// The questions of one run, as far as its journal was read.
#[derive(Default)]
struct Asking {
    read: u64,
    gates: Gates,
    steps: LastSteps,
    open: Vec<Arc<Question>>,
}

impl Board {
    pub fn new(state: StateDir, host: Arc<dyn Host>) -> Board {
        Board { state, host, listeners: AtomicUsize::new(0), known: Mutex::default(), view: Mutex::default() }
    }

    /// How it looked at the last look.
    pub fn view(&self) -> Arc<BoardView> {
        self.shown().clone()
    }

    /// Looks again where a client wants it; whether something is new. Waits for the disk.
    pub fn read_on(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0 && self.look()
    }

    /// Looks again; whether something is new.
    pub fn look(&self) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.view();
        let next = match known.find(&self.state) {
            Ok(found) => known.view(&self.state, &*self.host, found, &before),
            Err(error) => {
                known.index = None;
                BoardView { problem: Some(in_words(&error)), ..before.copied() }
            }
        };
        let is_new = next.version != before.version || next.problem != before.problem;
        if is_new {
            *self.shown() = Arc::new(next);
        }
        is_new
    }

    fn shown(&self) -> MutexGuard<'_, Arc<BoardView>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BoardView {
    fn copied(&self) -> BoardView {
        BoardView {
            version: self.version + 1,
            runs: self.runs.clone(),
            questions: self.questions.clone(),
            is_cut: self.is_cut,
            gone: self.gone.clone(),
            problem: None,
        }
    }

    /// How many questions a run asks.
    pub fn asks(&self) -> HashMap<String, usize> {
        let mut asks = HashMap::new();
        for opened in &self.questions {
            *asks.entry(opened.question.run.clone()).or_default() += 1;
        }
        asks
    }
}

/// What the index says at one look.
#[derive(Default)]
struct Found {
    newest: Vec<RunRow>,
    /// Those that have not ended: they may ask.
    open: Vec<RunRow>,
    is_cut: bool,
}

impl BoardState {
    fn find(&mut self, state: &StateDir) -> Result<Found, Error> {
        if self.index.is_none() {
            self.index = Some(Index::open(state)?);
        }
        let Some(index) = &mut self.index else { return Ok(Found::default()) };
        let newest = index.find(&Search { limit: Some(MOST), ..Search::default() })?;
        if newest.len() < MOST {
            let open = newest.iter().filter(|row| !row.status.is_end()).cloned().collect();
            return Ok(Found { newest, open, is_cut: false });
        }
        let (parked, others): (Vec<_>, Vec<_>) = RunStatus::ALL
            .into_iter()
            .filter(|status| !status.is_end())
            .partition(|status| *status == RunStatus::Parked);
        let mut open = Vec::new();
        for status in [parked, others] {
            let limit = Some(MOST_ASKING + 1 - open.len());
            open.extend(index.find(&Search { status, limit, ..Search::default() })?);
        }
        let is_cut = open.len() > MOST_ASKING;
        open.truncate(MOST_ASKING);
        Ok(Found { newest, open, is_cut })
    }

    fn view(&mut self, state: &StateDir, host: &dyn Host, found: Found, before: &BoardView) -> BoardView {
        let look = before.version + 1;
        let known: HashMap<&RunId, &Listed> =
            before.runs.iter().map(|listed| (&listed.row.id, listed)).collect();
        let mut next = BoardView { version: before.version, is_cut: found.is_cut, ..BoardView::default() };
        self.read_on(state, host, &found.open);
        for row in found.newest {
            let asks = self.asking.get(&row.id).map_or(0, |asking| asking.open.len());
            let same = known.get(&row.id).filter(|old| old.row == row && old.asks == asks);
            let changed = same.map_or(look, |old| old.changed);
            next.runs.push(Listed { row, asks, changed });
        }
        next.questions = self.opened(before, look);
        next.gone = gone(before, &next, look);
        let is_new = next.runs.iter().any(|listed| listed.changed == look)
            || next.questions.iter().any(|opened| opened.changed == look)
            || next.gone.last().is_some_and(|(at, _)| *at == look)
            || next.is_cut != before.is_cut
            || before.problem.is_some();
        next.version = if is_new { look } else { before.version };
        next
    }

    /// Reads what these runs ask, as far as their journals have come; others ask nothing.
    fn read_on(&mut self, state: &StateDir, host: &dyn Host, open: &[RunRow]) {
        let ids: HashSet<&RunId> = open.iter().map(|row| &row.id).collect();
        self.asking.retain(|run, _| ids.contains(run));
        for row in open {
            let asking = self.asking.entry(row.id.clone()).or_default();
            if asking.read < row.events {
                // A journal that cannot be read asks nothing; its row says why.
                asking.read_on(state, host, row).ok();
            }
        }
    }

    fn opened(&self, before: &BoardView, look: u64) -> Vec<Opened> {
        let known: HashMap<(&str, &str), &Opened> =
            before.questions.iter().map(|opened| (opened.question.key(), opened)).collect();
        let all = self.asking.values().flat_map(|asking| &asking.open);
        let mut opened: Vec<Opened> = all
            .map(|question| {
                let same = known.get(&question.key()).filter(|old| old.question.shown == question.shown);
                Opened { question: question.clone(), changed: same.map_or(look, |old| old.changed) }
            })
            .collect();
        opened.sort_by(|a, b| {
            (a.question.opened, a.question.key()).cmp(&(b.question.opened, b.question.key()))
        });
        opened
    }
}

impl Asking {
    fn read_on(&mut self, state: &StateDir, host: &dyn Host, row: &RunRow) -> Result<(), Error> {
        let reader = Reader::open(state, &row.id)?;
        // The plan is read where there is something new to ask, and not kept.
        let mut graph: Option<Graph> = None;
        reader.read(self.read + 1, &mut |stamped| {
            self.gates.apply(&stamped);
            self.steps.apply(&stamped.event);
            self.read = stamped.seq;
        })?;
        let known: HashMap<GateId, Arc<Question>> = self
            .open
            .drain(..)
            .filter_map(|question| Some((GateId::parse(&question.id)?, question)))
            .collect();
        for asked in self.gates.open() {
            let question = match known.get(&asked.id) {
                Some(known) => known.clone(),
                None => {
                    let Some(ask) = ask(&reader, &asked.ask)? else { continue };
                    let graph = graph.get_or_insert_with(|| {
                        host.plan_of(&row.id).map(|plan| Graph::of(&plan)).unwrap_or_default()
                    });
                    let last = self.steps.of(&asked.id.task);
                    Arc::new(Question::of(&row.id, &row.workflow, asked, &ask, last, graph))
                }
            };
            self.open.push(question);
        }
        Ok(())
    }
}

/// An error with its causes.
fn in_words(error: &Error) -> String {
    let error: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn ask(reader: &Reader, payload: &Payload) -> Result<Option<Ask>, Error> {
    let text: Option<JsonText> = match payload {
        Payload::Inline(text) => Some(text.clone()),
        Payload::Blob { digest, .. } => reader.blob(digest)?,
        Payload::Gathered => None,
    };
    Ok(text.and_then(|text| serde_json::from_str(text.as_str()).ok()))
}

fn gone(before: &BoardView, next: &BoardView, look: u64) -> Vec<(u64, Gone)> {
    let mut gone = before.gone.clone();
    let is_listed = |run: &RunId| next.runs.iter().any(|listed| listed.row.id == *run);
    let left = before.runs.iter().filter(|listed| !is_listed(&listed.row.id));
    gone.extend(left.map(|listed| (look, Gone::Run(listed.row.id.clone()))));
    let keys: HashSet<_> = next.questions.iter().map(|opened| opened.question.key()).collect();
    let closed = before.questions.iter().filter(|opened| !keys.contains(&opened.question.key()));
    gone.extend(closed.map(|opened| {
        let question = &opened.question;
        (look, Gone::Question(RunId(question.run.as_str().into()), question.id.clone()))
    }));
    let most = gone.len().saturating_sub(MOST_GONE);
    gone.drain(..most);
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_journal::{Journal, Owner, RunMeta, Sqlite};
    use convoke_model::{Event, Timestamp};
    use convoke_testkit::events::{id, stamp, started};

    fn begun(state: &StateDir, name: &str, at: u64, then: Vec<Event>) {
        let run = RunId(name.into());
        let Event::RunStarted(mut started) = started() else { unreachable!() };
        started.run = run.clone();
        let events = std::iter::once(Event::RunStarted(started)).chain(then).collect();
        let mut stamped = stamp(events);
        stamped.iter_mut().for_each(|stamped| stamped.at = Timestamp(at + stamped.seq));
        let meta = RunMeta { plan: JsonText::of(&"a plan"), source: JsonText::of(&["a.yaml", "a"]) };
        let owner = Owner { pid: u32::MAX, start: None, host: "h".into(), boot: "b".into() };
        Sqlite::create(state, &run, &meta, &owner).unwrap().append(&stamped, &[], &[]).unwrap();
    }

    fn parked(task: &str) -> Vec<Event> {
        let ask = Payload::Inline(JsonText::of(&Ask::Unknown { prompt: "and?".into() }));
        vec![
            Event::GateOpened { task: id(task), question: 1, ask, shown: None, until: None },
            Event::RunParked { waiting: vec![id(task)] },
        ]
    }

    fn ended() -> Vec<Event> {
        vec![Event::RunFinished { status: RunStatus::Succeeded, output: None, failure: None }]
    }

    #[test]
    fn a_question_is_shown_however_many_runs_came_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        begun(&state, "a-first", 1, parked("ask"));
        (0..=MOST).for_each(|number| begun(&state, &format!("b-{number}"), 1_000, ended()));
        let board = Board::new(state.clone(), Arc::new(crate::host::tests::Nothing));
        assert!(board.look());
        let view = board.view();
        assert_eq!(view.runs.len(), MOST);
        assert!(view.runs.iter().all(|listed| &*listed.row.id.0 != "a-first"), "it is an old one");
        let ids: Vec<_> = view.questions.iter().map(|opened| opened.question.id.as_str()).collect();
        assert_eq!((ids, view.is_cut), (vec!["ask~1"], false));
        assert_eq!(view.asks().get("a-first"), Some(&1));
        assert!(!board.look(), "nothing is new");
    }
}
