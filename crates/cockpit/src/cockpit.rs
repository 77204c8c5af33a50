//! The model: open views, the newest look at runs, and the effects of an input.

use crate::answering::{Answering, Given};
use crate::cursor::Cursor;
use crate::overlay::{Act, Overlay};
use crate::seen::{Asked, CapacitySeen, RunSeen, RunsSeen, TaskSeen};
use crate::tasks::Tasks;
use crate::{Key, acting};
use convoke_model::{RunId, TaskId, Timestamp};

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// A text that was pasted: it is typed where words are typed, and is no keys anywhere else.
    Paste(String),
    /// The time.
    Tick(Timestamp),
    /// A new look at all runs.
    Runs(RunsSeen),
    /// A new look at the run that is open.
    Run(Box<RunSeen>),
    /// A new look at the task that is open.
    Task(Box<TaskSeen>),
    /// A new look at what processes share.
    Capacity(CapacitySeen),
    /// An action was done, or refused, in words.
    Done(Result<String, String>),
    /// A task is not done again before a person allows what it would repeat.
    WouldRepeat {
        /// The run.
        run: RunId,
        /// The task.
        task: TaskId,
        /// What would be repeated, in words.
        effects: String,
    },
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Look at this from now on.
    Look(Focus),
    /// Hand an answer in.
    Answer {
        /// The run.
        run: RunId,
        /// `TASK~NUMBER`
        question: String,
        /// The hash of what was shown.
        shown: String,
        /// The answer.
        given: Given,
    },
    /// Ask a run to stop.
    Stop {
        /// The run.
        run: RunId,
        /// Without letting attempts finish.
        now: bool,
    },
    /// Go on with a run.
    Resume(RunId),
    /// Say something to a run.
    Guide {
        /// The run.
        run: RunId,
        /// The task whose agent hears it.
        task: Option<TaskId>,
        /// The words.
        text: String,
    },
    /// Do a task again.
    Retry {
        /// The run.
        run: RunId,
        /// The task.
        task: TaskId,
        /// What was done to the world may be done again.
        repeat_effects: bool,
    },
    /// Leave.
    Quit,
}

/// What is read besides the list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// A run, and a task of it.
    pub run: Option<(RunId, Option<TaskId>)>,
    /// What processes share.
    pub capacity: bool,
    /// Another number where what was handed over of the run is not known any more: all of it is wanted.
    pub generation: u64,
}

/// Whether decisions are taken from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// They are.
    Given,
    /// They are not, in words.
    Refused(String),
}

/// A screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// All runs.
    Runs,
    /// All questions.
    Inbox,
    /// What processes share.
    Capacity,
    /// One run.
    Run(RunId),
    /// One task.
    Task(RunId, TaskId),
}

/// The model.
#[derive(Debug, Clone)]
pub struct Cockpit {
    /// The state folder, as it is named to people.
    pub state: String,
    pub(crate) permission: Permission,
    pub(crate) now: Timestamp,
    pub(crate) place: Place,
    /// The places from which this one was reached.
    pub(crate) before: Vec<Place>,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) runs: RunsSeen,
    pub(crate) has_looked: bool,
    pub(crate) runs_cursor: Cursor,
    pub(crate) inbox_cursor: Cursor,
    pub(crate) capacity: Option<CapacitySeen>,
    pub(crate) capacity_cursor: Cursor,
    pub(crate) run: Option<RunSeen>,
    /// How often the tasks were begun anew.
    pub(crate) generation: u64,
    pub(crate) tasks: Tasks,
    pub(crate) task: Option<TaskSeen>,
    /// The first line of the task's page that is shown; `None`: its end, which is followed.
    pub(crate) scroll: Option<usize>,
    /// Lines of the task's page and lines of the screen, as drawn last.
    pub(crate) page: (usize, usize),
    /// Rows of a list that the screen had room for when it was drawn last.
    pub(crate) height: usize,
    /// What was said last: whether it went well, the words, and when.
    pub(crate) message: Option<(bool, String, Timestamp)>,
}

impl Cockpit {
    /// Nothing was looked at yet.
    pub fn new(state: impl Into<String>, permission: Permission, now: Timestamp) -> Cockpit {
        Cockpit {
            state: state.into(),
            permission,
            now,
            place: Place::Runs,
            before: Vec::new(),
            overlay: None,
            runs: RunsSeen::default(),
            has_looked: false,
            runs_cursor: Cursor::default(),
            inbox_cursor: Cursor::default(),
            capacity: None,
            capacity_cursor: Cursor::default(),
            run: None,
            generation: 0,
            tasks: Tasks::default(),
            task: None,
            scroll: Some(0),
            page: (0, 0),
            height: 1,
            message: None,
        }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is said at the bottom, if anything.
    pub fn message(&self) -> Option<&str> {
        self.message.as_ref().map(|(_, words, _)| words.as_str())
    }

    /// Takes what happens; what is to be done.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => return acting::key(self, key),
            Input::Paste(text) => acting::paste(self, &text),
            Input::Tick(now) => self.now = self.now.max(now),
            Input::Runs(seen) => self.take_runs(seen),
            Input::Run(seen) => self.take_run(*seen),
            Input::Task(seen) => self.take_task(*seen),
            Input::Capacity(seen) => self.capacity = Some(seen),
            Input::Done(Ok(words)) => self.say(true, words),
            Input::Done(Err(words)) => self.say(false, words),
            Input::WouldRepeat { run, task, effects } => {
                let effects = Some(effects);
                self.overlay = Some(Overlay::Sure(Act::Retry { run, task, repeat_effects: true, effects }));
            }
        }
        Vec::new()
    }

    /// What is to be read for the place.
    pub fn focus(&self) -> Focus {
        let run = match &self.place {
            Place::Run(run) => Some((run.clone(), None)),
            Place::Task(run, task) => Some((run.clone(), Some(task.clone()))),
            _ => None,
        };
        Focus { run, capacity: self.place == Place::Capacity, generation: self.generation }
    }

    pub(crate) fn say(&mut self, good: bool, words: impl Into<String>) {
        self.message = Some((good, words.into(), self.now));
    }

    /// Opens a place; the one before is kept to go back to.
    pub(crate) fn open(&mut self, place: Place) -> Vec<Effect> {
        if place != self.place {
            let before = std::mem::replace(&mut self.place, place);
            self.before.push(before);
        }
        self.enter()
    }

    /// Goes back; from the first place nothing happens.
    pub(crate) fn back(&mut self) -> Vec<Effect> {
        if let Some(before) = self.before.pop() {
            self.place = before;
        }
        self.enter()
    }

    /// Opens one of the places that all others are reached from.
    pub(crate) fn switch(&mut self, place: Place) -> Vec<Effect> {
        self.before.clear();
        self.place = place;
        self.enter()
    }

    fn enter(&mut self) -> Vec<Effect> {
        let is_other = |seen: Option<&RunId>, wanted: &RunId| seen != Some(wanted);
        let seen = self.run.as_ref().map(|seen| seen.run.clone());
        match self.place.clone() {
            Place::Run(run) | Place::Task(run, _) if is_other(seen.as_ref(), &run) => {
                self.run = None;
                self.tasks = Tasks::default();
                self.generation += 1;
            }
            _ => {}
        }
        if let Place::Task(_, task) = &self.place
            && self.task.as_ref().is_none_or(|seen| seen.task != *task)
        {
            self.task = None;
            self.scroll = Some(0);
        }
        vec![Effect::Look(self.focus())]
    }

    fn take_runs(&mut self, seen: RunsSeen) {
        let chosen = self.runs.runs.get(self.runs_cursor.at).map(|line| line.run.clone());
        let asked = self.runs.questions.get(self.inbox_cursor.at);
        let asked = asked.map(|asked| (asked.run.clone(), asked.id.clone()));
        self.has_looked = true;
        self.runs = seen;
        let place = chosen.and_then(|run| self.runs.runs.iter().position(|line| line.run == run));
        self.runs_cursor.follow(place, self.runs.runs.len());
        let place = asked.and_then(|(run, id)| {
            self.runs.questions.iter().position(|asked| asked.run == run && asked.id == id)
        });
        self.inbox_cursor.follow(place, self.runs.questions.len());
        self.renew_question();
    }

    /// The question on the screen may be answered meanwhile, or read otherwise.
    fn renew_question(&mut self) {
        let Some(Overlay::Question(answering)) = &mut self.overlay else { return };
        let of = |asked: &&Asked| asked.run == answering.asked.run && asked.id == answering.asked.id;
        match self.runs.questions.iter().find(of) {
            Some(asked) => {
                if answering.renew(asked, self.now) {
                    self.say(false, "the question reads otherwise now: look at it again");
                }
            }
            None => {
                let task = answering.asked.task.clone();
                self.overlay = None;
                self.say(
                    false,
                    format!("`{task}` does not ask any more: it was answered, or its time was over"),
                );
            }
        }
    }

    fn take_run(&mut self, mut seen: RunSeen) {
        let is_open = match &self.place {
            Place::Run(run) | Place::Task(run, _) => *run == seen.run,
            _ => false,
        };
        if is_open {
            self.tasks.take(&mut seen);
            self.run = Some(seen);
        }
    }

    fn take_task(&mut self, seen: TaskSeen) {
        let is_open = matches!(&self.place, Place::Task(run, task) if (run, task) == (&seen.run, &seen.task));
        if is_open {
            // What grows is followed from its beginning on.
            let is_first = self.task.is_none();
            if is_first && seen.sections.iter().any(|section| section.grows) {
                self.scroll = None;
            }
            self.task = Some(seen);
        }
    }

    /// The run that keys are about.
    pub(crate) fn chosen_run(&self) -> Option<&RunId> {
        match &self.place {
            Place::Run(run) | Place::Task(run, _) => Some(run),
            Place::Runs => self.runs.runs.get(self.runs_cursor.at).map(|line| &line.run),
            Place::Inbox => self.chosen_question().map(|asked| &asked.run),
            Place::Capacity => None,
        }
    }

    /// The task that keys are about.
    pub(crate) fn chosen_task(&self) -> Option<TaskId> {
        match &self.place {
            Place::Task(_, task) => Some(task.clone()),
            Place::Run(_) => self.tasks.chosen().map(|row| row.task.clone()),
            Place::Inbox => self.chosen_question().map(|asked| asked.task.clone()),
            _ => None,
        }
    }

    /// The question that keys are about.
    pub(crate) fn chosen_question(&self) -> Option<&Asked> {
        let of_run = |run: &RunId| self.runs.questions.iter().find(|asked| asked.run == *run);
        match &self.place {
            Place::Inbox => self.runs.questions.get(self.inbox_cursor.at),
            Place::Runs => of_run(&self.runs.runs.get(self.runs_cursor.at)?.run),
            Place::Run(run) => {
                let chosen = self.tasks.chosen().map(|row| &row.task);
                let of_task =
                    self.runs.questions.iter().find(|asked| asked.run == *run && Some(&asked.task) == chosen);
                of_task.or_else(|| of_run(run))
            }
            Place::Task(run, task) => {
                self.runs.questions.iter().find(|asked| asked.run == *run && asked.task == *task)
            }
            Place::Capacity => None,
        }
    }

    /// Questions that may be answered together with one.
    pub(crate) fn alike(&self, to: &Asked) -> Vec<Asked> {
        let is_alike =
            |asked: &&Asked| asked.alike == to.alike && (&asked.run, &asked.id) != (&to.run, &to.id);
        self.runs.questions.iter().filter(is_alike).cloned().collect()
    }

    pub(crate) fn ask(&mut self, asked: Asked) {
        self.overlay = Some(Overlay::Question(Box::new(Answering::of(asked, self.now))));
    }
}
