//! Puts verdicts into words: causes in order, each with what follows from it.

use super::Side;
use super::definition::Definitions;
use super::divergence::Divergence;
use super::explain::{Verdict, event_at};
use super::result::{Cause, Change, Comparison, Consequence, Kind, Since, task_name};
use super::start::{Started, text};
use super::story::{self, Item, Story, What, what_is};
use super::totals::{run_totals, task_totals};
use super::wording::{alone, same};
use crate::error::EngineError;
use crate::report;
use convoke_agent::Account;
use convoke_model::excerpt::clipped;
use convoke_model::hash::HashMap;
use convoke_model::{Event, Payload, TaskId};
use convoke_schedule::StoredOutputs;
use serde_json::{Map, Value, json};

/// Consequences whose texts are told.
const MOST_TEXTS: usize = 200;
/// Characters of a value that is told.
const MOST_VALUE: usize = 20_000;

/// Puts everything together.
pub fn comparison(
    sides: &[Side<'_>; 2],
    stories: &[Story; 2],
    divergences: &[Divergence],
    definitions: &Definitions,
    started: Started,
    verdicts: &[Verdict],
) -> Result<Comparison, EngineError> {
    let mut telling = Telling::new(sides, stories, divergences, definitions, started.causes);
    let roots = telling.roots(verdicts);
    telling.add_unshown();
    let order = telling.order();
    let texts = telling.asks(verdicts)?;
    let mut causes: Vec<Cause> = order.iter().map(|at| telling.cause(*at, &texts)).collect();
    let place: HashMap<usize, usize> = order.iter().enumerate().map(|(to, from)| (*from, to)).collect();
    let mut consequences = Vec::new();
    for (at, verdict) in verdicts.iter().enumerate() {
        let since = match verdict {
            Verdict::Task(from) => match task_name(&divergences[*from].task) {
                Some(task) => Since::Task(task),
                None => Since::Cause,
            },
            Verdict::Start(_) | Verdict::Definition(..) if !telling.is_told_there(at, roots[at]) => {
                Since::Cause
            }
            _ => continue,
        };
        let changes = if consequences.len() < MOST_TEXTS { telling.texts(at, &texts) } else { Vec::new() };
        let Divergence { task, .. } = &divergences[at];
        let (what, events) = (telling.words(at), divergences[at].events());
        let cause = place[&roots[at]];
        causes[cause].consequences += 1;
        consequences.push(Consequence {
            task: task_name(task),
            what,
            events,
            cause,
            follows_from: since,
            changes,
        });
    }
    let reports = sides.map(|side| report::fold(side.events));
    Ok(Comparison {
        equal: causes.is_empty(),
        runs: [0, 1].map(|side| run_totals(&sides[side], &reports[side])),
        causes,
        consequences,
        circumstances: started.circumstances,
        tasks: task_totals(&reports),
    })
}

/// A cause before it is told.
struct Found {
    kind: Kind,
    /// The divergences that it is told by, first to last.
    shown_by: Vec<usize>,
    origin: Origin,
    has_effect: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Origin {
    /// How the runs were started.
    Start(usize),
    /// Changed steps that have this change in common.
    Definition(Vec<usize>),
    /// A task that decided.
    Decided(TaskId),
    /// A divergence itself.
    Own,
    /// A run that has not ended.
    Unfinished(usize),
}

struct Telling<'a> {
    sides: &'a [Side<'a>; 2],
    stories: &'a [Story; 2],
    divergences: &'a [Divergence],
    definitions: &'a Definitions,
    started: Vec<Cause>,
    found: Vec<Found>,
    known: HashMap<String, usize>,
}

/// The fields of what attempts were asked, by run and event.
type Asks = [HashMap<u64, Map<String, Value>>; 2];

impl<'a> Telling<'a> {
    fn new(
        sides: &'a [Side<'a>; 2],
        stories: &'a [Story; 2],
        divergences: &'a [Divergence],
        definitions: &'a Definitions,
        started: Vec<Cause>,
    ) -> Telling<'a> {
        let (found, known) = (Vec::new(), HashMap::default());
        Telling { sides, stories, divergences, definitions, started, found, known }
    }

    /// The cause at the root of each divergence.
    fn roots(&mut self, verdicts: &[Verdict]) -> Vec<usize> {
        let mut roots: Vec<Option<usize>> = vec![None; verdicts.len()];
        for start in 0..verdicts.len() {
            let (mut path, mut at) = (vec![start], start);
            let root = loop {
                match (&verdicts[at], roots[at]) {
                    (_, Some(root)) => break root,
                    (Verdict::Task(next), None) if !path.contains(next) => {
                        path.push(*next);
                        at = *next;
                    }
                    // Two that explain each other are a race.
                    (Verdict::Task(_), None) => break self.add(at, &Verdict::Cause(Kind::Order, None)),
                    (verdict, None) => break self.add(at, verdict),
                }
            };
            path.into_iter().for_each(|at| roots[at] = Some(root));
        }
        roots.into_iter().map(|root| root.expect("each was given one")).collect()
    }

    /// The cause that a verdict names; the same cause of several tasks is one.
    fn add(&mut self, at: usize, verdict: &Verdict) -> usize {
        let (kind, origin, key) = match verdict {
            Verdict::Cause(kind, Some(task)) => {
                (*kind, Origin::Decided(task.clone()), format!("decided {kind:?} {task}"))
            }
            Verdict::Cause(kind, None) => (*kind, Origin::Own, self.own_key(at, *kind)),
            Verdict::Unfinished(side) => {
                (Kind::Unfinished, Origin::Unfinished(*side), format!("unfinished {side}"))
            }
            Verdict::Definition(step, kind) => {
                (*kind, Origin::Definition(vec![*step]), self.definition_key(*step, *kind))
            }
            Verdict::Start(at) => (self.started[*at].kind, Origin::Start(*at), format!("start {at}")),
            Verdict::Task(_) => unreachable!("what follows from a task is no cause"),
        };
        let place = *self.known.entry(key).or_insert_with(|| {
            self.found.push(Found { kind, shown_by: Vec::new(), origin: origin.clone(), has_effect: true });
            self.found.len() - 1
        });
        self.found[place].shown_by.push(at);
        if let (Origin::Definition(steps), Origin::Definition(more)) =
            (&mut self.found[place].origin, &origin)
        {
            steps.extend(more.iter().filter(|step| !steps.contains(step)).copied().collect::<Vec<_>>());
        }
        place
    }

    /// The same fault, or the same order, of several tasks is one cause; answers and results are each their own.
    fn own_key(&self, at: usize, kind: Kind) -> String {
        match kind {
            Kind::Fault | Kind::Stop => format!("{kind:?} {}", self.words(at)),
            _ => format!("own {at}"),
        }
    }

    fn definition_key(&self, step: usize, kind: Kind) -> String {
        let fields = self.definitions.changed[step].1.iter().filter(|field| field.kind == kind);
        let changes: Vec<_> = fields.map(|field| &field.change).collect();
        format!("plan {kind:?} {}", json!(changes))
    }

    /// What differs in plans and at the start and shows nowhere.
    fn add_unshown(&mut self) {
        for step in 0..self.definitions.changed.len() {
            let mut kinds: Vec<Kind> = Vec::new();
            for field in &self.definitions.changed[step].1 {
                if !kinds.contains(&field.kind) {
                    kinds.push(field.kind);
                }
            }
            for kind in kinds {
                let key = self.definition_key(step, kind);
                let origin = Origin::Definition(vec![step]);
                self.add_without_effect(key, kind, origin);
                let place = self.known[&self.definition_key(step, kind)];
                if let Origin::Definition(steps) = &mut self.found[place].origin
                    && !steps.contains(&step)
                {
                    steps.push(step);
                }
            }
        }
        let models = self
            .found
            .iter()
            .any(|found| found.kind == Kind::Model && matches!(found.origin, Origin::Definition(_)));
        for at in 0..self.started.len() {
            // The model of the configuration stands in the plan, step by step.
            if !(models && self.started[at].kind == Kind::Model) {
                self.add_without_effect(format!("start {at}"), self.started[at].kind, Origin::Start(at));
            }
        }
    }

    fn add_without_effect(&mut self, key: String, kind: Kind, origin: Origin) {
        if !self.known.contains_key(&key) {
            self.known.insert(key, self.found.len());
            self.found.push(Found { kind, shown_by: Vec::new(), origin, has_effect: false });
        }
    }

    /// Causes with an effect in the order of their events, then the others.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.found.len()).collect();
        order.sort_by_key(|at| {
            let found = &self.found[*at];
            let first = found.shown_by.iter().map(|at| self.divergences[*at].first()).min();
            let is_start = matches!(found.origin, Origin::Start(_));
            (!found.has_effect, if is_start { Some(1) } else { first }, *at)
        });
        order
    }

    /// Whether a divergence is where its cause is told, and no consequence.
    fn is_told_there(&self, at: usize, root: usize) -> bool {
        let found = &self.found[root];
        match &found.origin {
            Origin::Start(_) => false,
            _ => found.shown_by.first() == Some(&at),
        }
    }

    /// What was asked at divergences that are told.
    fn asks(&self, verdicts: &[Verdict]) -> Result<Asks, EngineError> {
        let told = (0..verdicts.len()).take(MOST_TEXTS + self.found.len());
        let told: Vec<&Divergence> = told.map(|at| &self.divergences[at]).collect();
        let of = |side: usize| -> Result<HashMap<u64, Map<String, Value>>, EngineError> {
            let items = told.iter().filter_map(|divergence| divergence.items[side]);
            let wanted: Vec<u64> =
                items.filter(|item| item.what == What::Asked).map(|item| item.seq).collect();
            Ok(story::asks(&self.sides[side], &wanted)?.into_iter().collect())
        };
        Ok([of(0)?, of(1)?])
    }

    fn cause(&self, at: usize, asks: &Asks) -> Cause {
        let found = &self.found[at];
        let first = found.shown_by.first().copied();
        let own = first.map(|first| &self.divergences[first]);
        let mut cause = Cause {
            kind: found.kind,
            task: own.and_then(|own| task_name(&own.task)),
            also: Vec::new(),
            what: String::new(),
            events: own.map(Divergence::events).unwrap_or_default(),
            changes: Vec::new(),
            consequences: 0,
            has_effect: found.has_effect,
        };
        match &found.origin {
            Origin::Start(at) => {
                let Cause { what, changes, events, .. } = self.started[*at].clone();
                (cause.task, cause.what, cause.changes, cause.events) = (None, what, changes, events);
            }
            Origin::Definition(steps) => self.tell_definition(&mut cause, steps, found),
            Origin::Unfinished(side) => {
                let run = ["first", "second"][*side];
                cause.what = format!("the {run} run has not come to its end");
                cause.task = None;
                cause.events[*side] = Some(self.stories[*side].last);
            }
            Origin::Decided(task) => {
                cause.task = task_name(task);
                cause.what = "other outputs came in time".to_owned();
                cause.changes = self.winners(task);
            }
            Origin::Own => {
                let at = first.expect("shown by itself");
                cause.what = self.words(at);
                cause.changes = self.texts(at, asks);
                if found.kind == Kind::Order {
                    self.tell_order(&mut cause, &self.divergences[at].task);
                }
                let others = found.shown_by.iter().skip(1);
                cause.also = others.filter_map(|at| task_name(&self.divergences[*at].task)).collect();
            }
        }
        cause
    }

    fn tell_definition(&self, cause: &mut Cause, steps: &[usize], found: &Found) {
        let changed = |step: &usize| &self.definitions.changed[*step];
        let name = |step: &usize| Some(changed(step).0.1.clone()).filter(|name| !name.is_empty());
        let fields = changed(&steps[0]).1.iter().filter(|field| field.kind == found.kind);
        cause.changes = fields.map(|field| clipped_change(field.change.clone())).collect();
        let names: Vec<&str> = cause.changes.iter().map(|change| change.field.as_str()).collect();
        cause.what = match (names.as_slice(), cause.changes.first()) {
            (["step"], Some(Change { before: None, .. })) => "the step was added to the plan".to_owned(),
            (["step"], _) => "the step was taken out of the plan".to_owned(),
            _ => format!("the plan has another {}", names.join(", ")),
        };
        // The task where it shows first, if it is one of the step that changed.
        let step = name(&steps[0]);
        let own = found.shown_by.first().map(|at| &self.divergences[*at].task);
        let own = own.filter(|task| self.node_name(task) == step.as_deref() && step.is_some());
        cause.task = own.and_then(task_name).or(step);
        cause.also = steps.iter().skip(1).filter_map(name).collect();
    }

    fn node_name(&self, task: &TaskId) -> Option<&str> {
        (0..2).find_map(|side| {
            let (workflow, node) = self.stories[side].tasks.get(task)?.place?;
            Some(&*self.sides[side].plan.workflow(workflow).node(node).name)
        })
    }

    fn tell_order(&self, cause: &mut Cause, task: &TaskId) {
        let winners = self.winners(task);
        if !winners.is_empty() {
            cause.what = "other outputs came first".to_owned();
            cause.changes = winners;
        }
    }

    /// What a task followed in each run, where that differs.
    fn winners(&self, task: &TaskId) -> Vec<Change> {
        let told = [0, 1].map(|side| {
            let story = self.stories[side].tasks.get(task)?;
            let names: Vec<String> = story.upstream.iter().map(TaskId::to_string).collect();
            Some(names.join(", "))
        });
        let [before, after] = told;
        let change = Change { field: "follows".to_owned(), before, after };
        (change.before != change.after).then_some(change).into_iter().collect()
    }

    /// Old and new values at a divergence.
    fn texts(&self, at: usize, asks: &Asks) -> Vec<Change> {
        let own = &self.divergences[at];
        let values = [0, 1].map(|side| self.values(side, own.items[side], asks));
        let [old, new] = &values;
        let added = new.keys().filter(|key| !old.contains_key(*key));
        let keys = old.keys().chain(added).filter(|key| old.get(*key) != new.get(*key));
        let change = |key: &String| {
            let (before, after) = (text(old.get(key)), text(new.get(key)));
            clipped_change(Change { field: key.clone(), before, after })
        };
        keys.map(change).collect()
    }

    /// What a run has at a place, field by field.
    fn values(&self, side: usize, item: Option<Item>, asks: &Asks) -> Map<String, Value> {
        let Some(item) = item else { return Map::new() };
        if item.what == What::Asked {
            return asks[side].get(&item.seq).cloned().unwrap_or_default();
        }
        let values = StoredOutputs(self.sides[side].blob);
        let payload = |name: &str, payload: &Payload| {
            spread(name, payload.text(values.0).map(|text| text.value()).unwrap_or_default())
        };
        let one = |name: &str, value: Value| Map::from_iter([(name.to_owned(), value)]);
        match event_at(self.sides[side].events, item.seq) {
            Some(
                Event::AttemptFinished { output, .. }
                | Event::TaskSucceeded { output, .. }
                | Event::OutputTaken { output, .. },
            ) => payload("output", output),
            Some(Event::AttemptFailed { failure, .. } | Event::TaskFailed { failure, .. }) => {
                one("failure", json!(failure.to_string()))
            }
            Some(Event::GateOpened { ask, .. }) => payload("question", ask),
            Some(Event::GateAnswered { answer, .. }) => payload("answer", answer),
            Some(Event::TurnRecorded { piece, .. } | Event::AttemptSuspended { state: piece, .. }) => {
                message(&values, piece, item)
            }
            Some(Event::FannedOut { items, .. }) => payload("items", items),
            Some(Event::TaskStarted { inputs: Some(inputs), .. }) => payload("inputs", inputs),
            Some(Event::RouteTaken { to, .. }) => one("route", json!(to.as_ref().map_or("$end", |to| &to.0))),
            Some(Event::MergeStarted { sources, .. }) => one("sources", json!(sources)),
            Some(
                Event::TaskSkipped { cause, .. }
                | Event::TaskCancelled { cause, .. }
                | Event::CancelRequested { cause, .. },
            ) => one("stopped", json!(cause.to_string())),
            Some(Event::GoalDecided(decided)) => {
                one("decision", json!(format!("{}: {}", decided.chosen, decided.reason)))
            }
            Some(Event::PhaseDecided(decided)) => {
                one("decision", json!(format!("{}: {}", decided.chosen, decided.reason)))
            }
            Some(Event::ToolsSettled { allowed_tools, .. }) => one("tools", json!(allowed_tools)),
            Some(Event::FilesSeen { present, .. }) => one("files", json!(present)),
            Some(Event::Guided { text, .. } | Event::TaskGuided { text, .. }) => one("guidance", json!(text)),
            Some(Event::RunFinished { status, output, .. }) => {
                let mut fields = one("status", json!(status));
                fields.extend(output.iter().flat_map(|output| payload("output", output)));
                fields
            }
            Some(Event::HookRendered { text, .. }) => one("text", json!(text)),
            Some(Event::StateChanged { flags, metadata, .. }) => one("state", json!([flags, metadata])),
            Some(Event::Announced { payload: said, kind, .. }) => payload(kind, said),
            Some(Event::ProjectSeen { context, .. }) => payload("project", context),
            Some(Event::BudgetSpent(spent)) => {
                one("budget", json!(format!("{} of {}", spent.budget, spent.limit)))
            }
            _ => Map::new(),
        }
    }

    /// A divergence in words.
    fn words(&self, at: usize) -> String {
        let own = &self.divergences[at];
        let which = |side: usize| ["first", "second"][side];
        if own.has_task != [true, true] && task_name(&own.task).is_some() {
            let has = usize::from(own.has_task[1]);
            return format!("it is only in the {} run", which(has));
        }
        let [old, new] = own.items.map(|item| item.map(|item| item.what));
        match (old, new) {
            (Some(old), Some(new)) if old == new => same(old).to_owned(),
            (Some(old), Some(new)) => {
                format!("{} in the first run, {} in the second", alone(old), alone(new))
            }
            (Some(what), None) => format!("{} in the first run only", alone(what)),
            (None, Some(what)) => format!("{} in the second run only", alone(what)),
            (None, None) => "something differs".to_owned(),
        }
    }
}

/// A value field by field, where it has fields.
fn spread(name: &str, value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)).collect()
        }
        other => Map::from_iter([(name.to_owned(), other)]),
    }
}

/// The message of a conversation that an item stands for.
fn message(values: &StoredOutputs<'_>, piece: &Payload, item: Item) -> Map<String, Value> {
    let accounts = piece.text(values.0).and_then(|text| Account::read(&[text])).unwrap_or_default();
    let mut messages = accounts.iter().flat_map(|account| &account.messages);
    let found =
        messages.find(|message| what_is(message) == item.what && story::value_of(message) == item.value);
    let Some(message) = found else { return Map::new() };
    let name = match (&message.result_of, item.what) {
        (Some(of), _) => format!("result of {}", of.name),
        (None, What::AgentMessage) => "said".to_owned(),
        (None, _) => "told".to_owned(),
    };
    let calls: Vec<String> =
        message.tool_calls.iter().map(|call| format!("{} {}", call.name, call.arguments.as_str())).collect();
    let words = [vec![message.text.clone()], calls].concat();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
    Map::from_iter([(name, json!(words.join("\n")))])
}

fn clipped_change(change: Change) -> Change {
    let clip = |text: String| clipped(&text, MOST_VALUE);
    Change { field: change.field, before: change.before.map(clip), after: change.after.map(clip) }
}
