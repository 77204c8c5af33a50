//! Looks at the runs on a thread of its own: often while something changes, seldom while nothing does, and at once when the person moves.
//!
//! Of a run that is open only the rows that have changed are handed over. What cannot be read is a sentence; the rest goes on.

use super::Happened;
use crate::clock;
use convoke_cockpit::seen::{
    Asked, CapacitySeen, Choice, Field, LimitLine, RunLine, RunSeen, RunsSeen, Section, TaskSeen,
};
use convoke_cockpit::{Focus, Input};
use convoke_journal::{RunRow, Saying};
use convoke_model::{RunId, RunStatus, TaskId};
use convoke_server::looking::{
    AllRuns, CapacityBody, LimitBody, Looking, MessageBody, OneRun, PayloadBody, Question, RunHead,
    TaskDetail,
};
use convoke_view::words;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// Between two looks where something has just changed.
const BUSY: Duration = Duration::from_millis(120);

/// Between two looks where nothing changes.
const IDLE: Duration = Duration::from_millis(600);

/// The way to the thread.
pub(super) struct Reader {
    focus: Arc<Mutex<Focus>>,
    thread: Thread,
}

impl Reader {
    /// Looks at this from now on.
    pub fn look(&self, focus: Focus) {
        *self.focus.lock().unwrap_or_else(PoisonError::into_inner) = focus;
        self.wake();
    }

    /// Looks at once.
    pub fn wake(&self) {
        self.thread.unpark();
    }
}

/// Starts the thread. It ends with the receiver.
pub(super) fn start(looking: Looking, sender: Sender<Happened>) -> io::Result<Reader> {
    let focus: Arc<Mutex<Focus>> = Arc::default();
    let mut looker = Looker { looking, sender, focus: focus.clone(), known: Known::default() };
    let thread = std::thread::Builder::new().name("looking".to_owned());
    let thread = thread.spawn(move || looker.go_on())?.thread().clone();
    Ok(Reader { focus, thread })
}

struct Looker {
    looking: Looking,
    sender: Sender<Happened>,
    focus: Arc<Mutex<Focus>>,
    known: Known,
}

/// What was handed over last.
#[derive(Default)]
struct Known {
    focus: Focus,
    runs: Option<RunsSeen>,
    capacity: Option<CapacitySeen>,
    /// The number of the last event that is in the rows that were handed over, and the version of the run.
    run: Option<(u64, u64)>,
    head: Option<RunSeen>,
    task: Option<TaskSeen>,
}

impl Looker {
    fn go_on(&mut self) {
        loop {
            let is_new = match self.look() {
                Ok(is_new) => is_new,
                Err(Gone) => return,
            };
            std::thread::park_timeout(if is_new { BUSY } else { IDLE });
        }
    }

    /// Whether anything was new.
    fn look(&mut self) -> Result<bool, Gone> {
        let focus = self.focus.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if focus != self.known.focus {
            let runs = self.known.runs.take();
            let same_run = run_of(&focus) == run_of(&self.known.focus);
            let run = self.known.run.take().filter(|_| same_run);
            self.known = Known { focus: focus.clone(), runs, run, ..Known::default() };
        }
        let mut is_new = self.look_at_runs()?;
        if focus.capacity {
            is_new |= self.look_at_capacity()?;
        }
        if let Some((run, task)) = &focus.run {
            is_new |= self.look_at_run(run)?;
            if let Some(task) = task {
                is_new |= self.look_at_task(run, task)?;
            }
        }
        Ok(is_new)
    }

    fn look_at_runs(&mut self) -> Result<bool, Gone> {
        let seen = runs_seen(self.looking.runs());
        if self.known.runs.as_ref() == Some(&seen) {
            return Ok(false);
        }
        self.known.runs = Some(seen.clone());
        self.tell(Input::Runs(seen))
    }

    fn look_at_capacity(&mut self) -> Result<bool, Gone> {
        let seen = match self.looking.capacity() {
            Ok(Some(body)) => capacity_seen(&body),
            Ok(None) => CapacitySeen {
                problem: Some(crate::commands::capacity::NOTHING_SHARED.to_owned()),
                ..CapacitySeen::default()
            },
            Err(problem) => CapacitySeen { problem: Some(problem), ..CapacitySeen::default() },
        };
        if self.known.capacity.as_ref() == Some(&seen) {
            return Ok(false);
        }
        self.known.capacity = Some(seen.clone());
        self.tell(Input::Capacity(seen))
    }

    fn look_at_run(&mut self, run: &RunId) -> Result<bool, Gone> {
        let since = self.known.run;
        let looked = self.looking.run(run, clock::now(), |one| {
            (run_seen(run, one, since.map(|(at, _)| at)), one.picture.table.position(), one.version)
        });
        let (seen, known) = match looked {
            Ok((seen, position, version)) => (seen, Some((position, version))),
            Err(why) => (nothing_of(run, &why), None),
        };
        let head = RunSeen { rows: Vec::new(), is_whole: false, ..seen.clone() };
        let is_same = since == known && self.known.head.as_ref() == Some(&head);
        self.known.run = known;
        self.known.head = Some(head);
        if is_same { Ok(false) } else { self.tell(Input::Run(Box::new(seen))) }
    }

    fn look_at_task(&mut self, run: &RunId, task: &TaskId) -> Result<bool, Gone> {
        let seen = match self.looking.task(run, task) {
            Ok((detail, saying)) => task_seen(run, task, &detail, saying),
            Err(why) => TaskSeen {
                run: run.clone(),
                task: task.clone(),
                facts: vec![("not shown".to_owned(), why)],
                sections: Vec::new(),
            },
        };
        if self.known.task.as_ref() == Some(&seen) {
            return Ok(false);
        }
        self.known.task = Some(seen.clone());
        self.tell(Input::Task(Box::new(seen)))
    }

    fn tell(&self, input: Input) -> Result<bool, Gone> {
        self.sender.send(Happened::Input(input)).map(|()| true).map_err(|_| Gone)
    }
}

/// Nobody listens any more.
struct Gone;

/// The run whose rows are kept up, and since when.
fn run_of(focus: &Focus) -> Option<(&RunId, u64)> {
    focus.run.as_ref().map(|(run, _)| (run, focus.generation))
}

fn runs_seen(all: AllRuns) -> RunsSeen {
    RunsSeen {
        runs: all.runs.iter().map(|(row, asks)| run_line(row, *asks)).collect(),
        questions: all.questions.iter().map(|question| asked(question)).collect(),
        is_cut: all.is_cut,
        problem: all.problem,
    }
}

fn run_line(row: &RunRow, asks: usize) -> RunLine {
    RunLine {
        run: row.id.clone(),
        workflow: row.workflow.clone(),
        status: row.status,
        started: row.started_at,
        worked_ms: row.worked_ms,
        last: row.last_at,
        live: row.status == RunStatus::Running || (row.status == RunStatus::Blocked && row.pid.is_some()),
        running: row.running,
        total: row.total,
        done: row.done,
        failed: row.failed,
        asks,
        cost: words::cost(&row.usage),
        problem: row.problem.clone(),
    }
}

fn asked(question: &Question) -> Asked {
    let choices = question.options.iter().map(|option| Choice {
        value: option.value.clone(),
        label: option.label.clone(),
        then: option.then.clone(),
        prompt_for: option.prompt_for.clone(),
    });
    let fields = question.fields.iter().map(|field| Field {
        id: field.id.clone(),
        text: match &field.hint {
            Some(hint) => format!("{} ({hint})", field.text),
            None => field.text.clone(),
        },
        choices: if field.free_text { Vec::new() } else { field.choices.clone() },
        default: field.default.clone(),
        required: field.required,
    });
    Asked {
        run: RunId(question.run.as_str().into()),
        workflow: question.workflow.clone(),
        task: TaskId(question.task.as_str().into()),
        id: question.id.clone(),
        shown: question.shown.clone(),
        kind: question.kind.clone(),
        text: question.text.clone(),
        options: choices.collect(),
        fields: fields.collect(),
        opened: question.opened,
        until: question.until,
        last_steps: question.last_steps.clone(),
        alike: question.group_key.clone(),
    }
}

fn capacity_seen(body: &CapacityBody) -> CapacitySeen {
    // A limit without a bound is worth a line only while something waits for it, or it pauses.
    let is_shown =
        |limit: &&LimitBody| limit.limit.is_some() || limit.paused_for_ms.is_some() || limit.queued > 0;
    let processes = body.processes.iter().map(|process| {
        let (leases, waiting) = (process.leases, process.waiting);
        let of = if process.run.is_empty() { String::new() } else { format!(" of run {}", process.run) };
        format!(
            "{}{of} ({}): {}, {leases} leases, {waiting} waiting",
            process.pid, process.workflow, process.state
        )
    });
    CapacitySeen {
        limits: body.limits.iter().filter(is_shown).map(limit_line).collect(),
        processes: processes.collect(),
        problem: None,
    }
}

fn limit_line(limit: &LimitBody) -> LimitLine {
    let amount = |amount: u64| match limit.unit.as_str() {
        "usd_micros" => words::money(amount),
        _ => words::count(amount),
    };
    let used = limit.used + limit.lingering;
    let window =
        limit.window_ms.map(|window| format!(" in {}", words::duration(Duration::from_millis(window))));
    let holders = limit.holders.iter().map(|holder| {
        let process = holder.process.map_or_else(|| "gone".to_owned(), |pid| pid.to_string());
        format!("{} by process {process}, run {} ({})", amount(holder.used), holder.run, holder.workflow)
    });
    LimitLine {
        name: limit.name.clone(),
        limit: match limit.limit {
            None => "-".to_owned(),
            Some(most) => format!("{}{}", amount(most), window.unwrap_or_default()),
        },
        used: amount(used),
        permille: limit.limit.filter(|most| *most > 0).map(|most| (used.min(most) * 1_000 / most) as u16),
        held: (limit.held > 0).then(|| amount(limit.held)),
        queued: limit.queued,
        state: match limit.paused_for_ms {
            None => "open".to_owned(),
            Some(time) => format!("paused {}", words::duration(Duration::from_millis(time))),
        },
        origin: limit.origin.clone(),
        holders: holders.collect(),
    }
}

fn status(word: &str) -> RunStatus {
    RunStatus::ALL.into_iter().find(|status| status.word() == word).unwrap_or(RunStatus::Running)
}

/// A run of which nothing can be read.
fn nothing_of(run: &RunId, why: &str) -> RunSeen {
    RunSeen {
        run: run.clone(),
        workflow: String::new(),
        status: RunStatus::Interrupted,
        live: false,
        worked: String::new(),
        ended: 0,
        total: 0,
        failed: 0,
        running: 0,
        eta: None,
        spent: None,
        notice: None,
        problem: Some(why.to_owned()),
        rows: Vec::new(),
        is_whole: true,
        doing: Vec::new(),
    }
}

fn run_seen(run: &RunId, one: &OneRun<'_>, since: Option<u64>) -> RunSeen {
    let (state, table, head) = (&one.picture.state, &one.picture.table, &one.head);
    let rows = table.rows();
    let places: Vec<usize> = match since {
        None => (0..rows.len()).collect(),
        Some(since) => table.changed_since(since).collect(),
    };
    let millis = |millis: u64| words::duration(Duration::from_millis(millis));
    RunSeen {
        run: run.clone(),
        workflow: head.row.workflow.clone(),
        status: status(&head.row.status),
        live: head.row.live,
        // Whole seconds: a line that changes ten times a second is not read.
        worked: millis(head.row.worked_ms / 1_000 * 1_000).replace(".0 s", " s"),
        ended: state.ended.total(),
        total: state.total(),
        failed: state.ended.failed,
        running: state.running.len() as u64,
        eta: head.eta_ms.map(|eta| millis(eta / 1_000 * 1_000).replace(".0 s", " s")),
        spent: spent(head),
        notice: notice(head),
        problem: head.row.problem.clone(),
        rows: places.into_iter().map(|place| (place, rows[place].clone())).collect(),
        is_whole: since.is_none(),
        doing: one.doing.clone(),
    }
}

fn spent(head: &RunHead) -> Option<String> {
    let used = head.row.cost_micros.map(words::money).unwrap_or_else(|| "cost unknown".to_owned());
    let budget = head.budget.as_ref();
    match (budget.and_then(|budget| budget.limit_micros), budget.and_then(|budget| budget.limit_tokens)) {
        (Some(limit), _) => Some(format!("{used} of {}", words::money(limit))),
        (None, Some(limit)) => {
            let tokens = budget.map_or(0, |budget| budget.used_tokens);
            Some(format!("{} of {} tokens", words::count(tokens), words::count(limit)))
        }
        (None, None) => (head.row.cost_micros != Some(0)).then_some(used),
    }
}

fn notice(head: &RunHead) -> Option<String> {
    let failure =
        head.failure.as_ref().map(|failure| format!("failed ({}): {}", failure.class, failure.message));
    let blocked = head.blocked.as_ref().map(|why| format!("waits for the machine: {why}"));
    let stalled = head.stalled.first().map(|first| {
        let others = head.stalled.len() - 1;
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        format!("no sign of life of {}{others} since {}", first.task, words::clock(first.since))
    });
    failure.or(blocked).or(stalled)
}

fn task_seen(run: &RunId, task: &TaskId, detail: &TaskDetail, saying: Option<Saying>) -> TaskSeen {
    TaskSeen {
        run: run.clone(),
        task: task.clone(),
        facts: facts(detail),
        sections: sections(detail, saying),
    }
}

fn facts(detail: &TaskDetail) -> Vec<(String, String)> {
    let row = &detail.row;
    let mut facts = vec![("state".to_owned(), row.state.clone())];
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    fact("type", row.kind.clone());
    fact("title", (row.title != row.task).then(|| row.title.clone()));
    fact("started", row.started.map(words::clock));
    fact("ran", (row.ran_ms > 0).then(|| words::duration(Duration::from_millis(row.ran_ms))));
    fact("cost", row.cost_micros.filter(|cost| *cost > 0).map(words::money));
    fact(
        "tokens",
        (row.tokens.input + row.tokens.output > 0).then(|| {
            format!("{} in, {} out", words::count(row.tokens.input), words::count(row.tokens.output))
        }),
    );
    for waits in &detail.waits_for {
        let holders: Vec<String> = waits
            .holders
            .iter()
            .take(3)
            .map(|holder| {
                let (run, task) =
                    (holder.run.clone().unwrap_or_default(), holder.task.clone().unwrap_or_default());
                format!("{run} {task}").trim().to_owned()
            })
            .collect();
        let by = if holders.is_empty() { String::new() } else { format!(", held by {}", holders.join("; ")) };
        fact("waits for", Some(format!("{}{by}", waits.text)));
    }
    if detail.waits_for.is_empty() {
        fact("waits for", row.waits.clone());
    }
    for attempt in &detail.tries {
        let end = attempt.end.clone().unwrap_or_else(|| "runs".to_owned());
        let failure =
            attempt.failure.as_ref().map(|failure| format!(": {}", failure.message)).unwrap_or_default();
        let elsewhere = attempt.performed_by.map(|pid| format!(" by process {pid}")).unwrap_or_default();
        fact(
            &format!("attempt {}", attempt.number),
            Some(format!("{} {end}{elsewhere}{failure}", words::clock(attempt.started))),
        );
    }
    for cause in &detail.causes {
        let of = cause.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
        fact("because", Some(format!("{}{of}", cause.text)));
    }
    for decision in &detail.decisions {
        fact("decided", Some(format!("{}: {}", decision.chosen, decision.reason)));
    }
    facts
}

fn sections(detail: &TaskDetail, saying: Option<Saying>) -> Vec<Section> {
    let section = |name: &str, text: String| Section { name: name.to_owned(), text, grows: false };
    let mut sections = Vec::new();
    if let Some(failed) = &detail.failed {
        let hint = failed.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
        sections.push(section("why it failed", format!("{}{hint}", failed.message)));
    }
    if let Some(question) = &detail.question {
        sections.push(section("what it asks", question.text.clone()));
    }
    for part in detail.prompt.iter().flat_map(|prompt| &prompt.parts) {
        sections.push(section(&part.name, part.text.clone() + &cut(part.cut)));
    }
    if detail.conversation.len() > 1 {
        let said = detail.conversation.iter().map(message).collect::<Vec<_>>().join("\n\n");
        let before = if detail.conversation_cut > 0 {
            format!("[{} earlier messages]\n\n", detail.conversation_cut)
        } else {
            String::new()
        };
        sections.push(section("conversation", before + &said));
    }
    sections.extend(detail.output.as_ref().map(|output| section("output", value(output))));
    let partial = detail.partial.as_ref().filter(|_| detail.output.is_none());
    sections.extend(partial.map(|partial| section("what was there when it failed", value(partial))));
    if let Some(Saying { text, dropped, tools, .. }) = saying {
        let before = if dropped > 0 { "[…] " } else { "" };
        let calls = if tools.is_empty() { String::new() } else { format!("\n[calls {}]", tools.join(", ")) };
        let text = format!("{before}{text}{calls}");
        sections.push(Section { name: "says".to_owned(), text, grows: true });
    }
    sections
}

fn message(message: &MessageBody) -> String {
    let MessageBody { role, text, tool, arguments, failed, cut: rest } = message;
    let failed = if *failed { " (failed)" } else { "" };
    match (tool, arguments, text) {
        (Some(tool), Some(arguments), _) => format!("{role} calls {tool}{failed}: {arguments}"),
        (Some(tool), None, Some(text)) => format!("{tool} gives{failed}: {text}{}", cut(*rest)),
        (_, _, text) => format!("{role}: {}{}", text.as_deref().unwrap_or_default(), cut(*rest)),
    }
}

fn value(value: &PayloadBody) -> String {
    let text = match serde_json::from_str::<serde_json::Value>(&value.text) {
        Ok(json) if value.json => format!("{json:#}"),
        _ => value.text.clone(),
    };
    match value.cut {
        true => format!("{text}\n[the beginning of {}]", words::bytes(value.bytes as u64)),
        false => text,
    }
}

fn cut(rest: Option<usize>) -> String {
    rest.map(|rest| format!(" [… {rest} more characters]")).unwrap_or_default()
}
