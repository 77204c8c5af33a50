//! A goal without a scheduler: roles are answered by the test, decisions are carried out over plain values.

use crate::composite::goal::accounts::BudgetAccount;
use crate::composite::goal::outcome::{Status, status};
use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::routing::decision::{Act, Decision};
use crate::composite::goal::routing::route::route;
use crate::composite::goal::state::{Entry, GoalState, ItemState, Response, Standing};
use crate::state::End;
use convoke_model::{Class, Effort, Failure, Item, Role, TaskId};
use convoke_plan::goal_plan::{Draft, Proposal};
use convoke_plan::{Action, Bounds, Goal, NodeIx, SpawnRule, Text};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A goal without models: roles are answered by the test.
pub(super) struct Play {
    pub(super) goal: Goal,
    pub(super) steps: Vec<Move>,
    pub(super) items: Vec<Piece>,
    pub(super) ended: Option<Result<(), Failure>>,
    pub(super) asked: Vec<String>,
    pub(super) accounts: Vec<BudgetAccount>,
}

#[derive(Clone)]
pub(super) enum Move {
    Role(Role, Heard),
    Child(usize),
}

#[derive(Clone)]
pub(super) enum Heard {
    Nothing,
    Failed(Failure),
    Said(Arc<GoalAnswer>),
}

pub(super) struct Piece {
    pub(super) id: TaskId,
    pub(super) item: Item,
    pub(super) parent: Option<usize>,
    pub(super) standing: Standing,
    pub(super) steps: Vec<Move>,
    pub(super) tried: Vec<Action>,
    pub(super) due: Option<Action>,
    pub(super) failure: Option<Failure>,
    pub(super) called: Vec<String>,
    /// It ended with the results of its children as they are.
    pub(super) joined: bool,
}

pub(super) fn goal() -> Goal {
    let all = [
        Action::Retry,
        Action::RepairParameters,
        Action::AlternativeTool,
        Action::Decompose,
        Action::SpawnRecovery,
        Action::Skip,
        Action::Fail,
    ];
    Goal {
        goal: Text::Literal("g".into()),
        context: None,
        roles: BTreeMap::new(),
        item: NodeIx(0),
        tools: vec!["read".into(), "write".into()],
        bounds: Bounds {
            max_depth: 2,
            max_children: 4,
            max_tasks: 12,
            max_subagents: u32::MAX,
            max_rounds: 2,
            max_recoveries: 3,
        },
        spawn: SpawnRule { tokens: 1000, seconds: 60, tools: 3 },
        skip_threshold: 70,
        policies: Class::ALL.into_iter().map(|class| (class, all.to_vec())).collect(),
        approve: false,
        plan_only: false,
        results: false,
        plan: None,
    }
}

pub(super) fn draft(id: &str, inputs: &[&str]) -> Draft {
    Draft {
        id: id.into(),
        description: format!("do {id}"),
        inputs: inputs.iter().map(|id| (*id).into()).collect(),
        tools: None,
        priority: 0,
        skip_probability: 0,
        skip_reason: String::new(),
        effort: Effort::default(),
        replaces: Vec::new(),
    }
}

pub(super) fn tasks(tasks: Vec<Draft>) -> GoalAnswer {
    GoalAnswer::Tasks(Proposal { tasks, complete: true })
}

pub(super) fn done() -> GoalAnswer {
    GoalAnswer::Work { achieved: true, reason: "seen".into() }
}

pub(super) fn answer(achieved: Option<bool>) -> GoalAnswer {
    GoalAnswer::Answer { achieved, reason: "it says so".into() }
}

pub(super) fn not_done() -> GoalAnswer {
    GoalAnswer::Work { achieved: false, reason: "no".into() }
}

impl Play {
    pub(super) fn new(goal: Goal) -> Play {
        Play {
            goal,
            steps: Vec::new(),
            items: Vec::new(),
            ended: None,
            asked: Vec::new(),
            accounts: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> GoalState<'_> {
        GoalState {
            goal: &self.goal,
            id: TaskId("g".into()),
            given: None,
            approved: None,
            approved_text: None,
            unattended: true,
            accounts: self.accounts.clone(),
            steps: self.steps.iter().map(step).collect(),
            made: self.items.len() as u32,
            rounds: self.rounds(),
            lacks_digests: false,
            items: self.items.iter().map(|item| self.item_state(item)).collect(),
            places: Default::default(),
        }
    }

    pub(super) fn rounds(&self) -> u32 {
        let later = |pair: &&[Move]| matches!(pair, [Move::Role(Role::Classify, _), Move::Child(_)]);
        u32::from(!self.items.is_empty()) + self.steps.windows(2).filter(later).count() as u32
    }

    pub(super) fn item_state<'p>(&'p self, piece: &'p Piece) -> ItemState<'p> {
        let end = |id: &TaskId| match self.items[self.at(id)].standing {
            Standing::Ended(end) => Some(end),
            _ => None,
        };
        ItemState {
            id: piece.id.clone(),
            item: &piece.item,
            parent: piece.parent,
            standing: piece.standing,
            builds_on: piece.item.inputs.clone(),
            inputs: piece.item.inputs.iter().map(end).collect(),
            steps: piece.steps.iter().map(step).collect(),
            tried: &piece.tried,
            due: piece.due,
            insisted: false,
            skipped: None,
            lacks_digests: piece.joined,
            failure: piece.failure.as_ref(),
            order: 0,
            proven: false,
            called: piece.called.iter().map(String::as_str).collect(),
        }
    }

    /// Decides and carries out, until a role must answer.
    pub(super) fn settle(&mut self) -> Vec<Decision> {
        let mut all = Vec::new();
        for _ in 0..10_000 {
            if self.ended.is_some() {
                return all;
            }
            let decisions = route(&self.state());
            if decisions.is_empty() {
                return all;
            }
            for decision in decisions {
                self.carry_out(&decision);
                all.push(decision);
            }
        }
        panic!("routing does not come to an end");
    }

    pub(super) fn carry_out(&mut self, decision: &Decision) {
        let at = decision.about.as_ref().map(|id| self.at(id));
        let action = Action::taken_by(decision.chosen);
        if let (Some(at), Some(action)) = (at, action) {
            self.items[at].tried.push(action);
            self.items[at].due = Some(action);
        }
        match &decision.act {
            Act::Ask { role, .. } => {
                let of = decision.about.as_ref().map_or("g".to_owned(), |id| id.to_string());
                self.asked.push(format!("{of}/{}", role.word()));
                self.moves(at).push(Move::Role(*role, Heard::Nothing));
                at.iter().for_each(|at| self.items[*at].due = None);
            }
            Act::Add(items) => self.add(at, items),
            Act::Skip(_) => self.items[at.unwrap()].standing = Standing::Ended(End::Skipped),
            Act::Retry => {}
            Act::Escalate(_) => unreachable!("nobody is there"),
            Act::Fail(failure) => {
                self.items[at.unwrap()].failure = Some(failure.clone());
                self.items[at.unwrap()].standing = Standing::Ended(End::Failed);
            }
            Act::Join { .. } => {
                self.items[at.unwrap()].joined = true;
                self.items[at.unwrap()].standing = Standing::Ended(End::Succeeded);
            }
            Act::Succeed | Act::Inherit(_) => {
                self.items[at.unwrap()].standing = Standing::Ended(End::Succeeded)
            }
            Act::Approve { .. } => unreachable!("nobody is there"),
            Act::Planned(_) | Act::Conclude => self.ended = Some(Ok(())),
            Act::Abandon(failure) => self.ended = Some(Err(failure.clone())),
        }
    }

    pub(super) fn add(&mut self, at: Option<usize>, items: &[Item]) {
        let below = at.map_or(TaskId("g".into()), |at| self.items[at].id.clone());
        let mut number = self.items.iter().filter(|item| item.parent == at).count();
        for item in items {
            number += 1;
            self.items.push(Piece {
                id: TaskId::new(Some(&below), &number.to_string(), None, 1),
                item: item.clone(),
                parent: at,
                standing: Standing::Waiting,
                steps: Vec::new(),
                tried: Vec::new(),
                due: None,
                failure: None,
                called: Vec::new(),
                joined: false,
            });
            let last = self.items.len() - 1;
            self.moves(at).push(Move::Child(last));
        }
        at.iter().for_each(|at| self.items[*at].due = None);
    }

    pub(super) fn moves(&mut self, at: Option<usize>) -> &mut Vec<Move> {
        match at {
            Some(at) => {
                self.items[at].standing = Standing::Open;
                &mut self.items[at].steps
            }
            None => &mut self.steps,
        }
    }

    pub(super) fn at(&self, id: &TaskId) -> usize {
        self.items.iter().position(|item| item.id == *id).expect("it is a task")
    }

    /// The goal or task that waits for an answer, and the role.
    pub(super) fn waiting(&self) -> Vec<(Option<usize>, Role)> {
        let open = |moves: &[Move]| match moves.last() {
            Some(Move::Role(role, Heard::Nothing)) => Some(*role),
            _ => None,
        };
        let of_goal = open(&self.steps).map(|role| (None, role));
        let of_items = self.items.iter().enumerate();
        let of_items = of_items.filter_map(|(at, item)| Some((Some(at), open(&item.steps)?)));
        of_goal.into_iter().chain(of_items).collect()
    }

    pub(super) fn answer(&mut self, at: Option<usize>, heard: Heard) {
        let moves = self.moves(at);
        let Some(Move::Role(_, waits)) = moves.last_mut() else { panic!("nobody was asked") };
        *waits = heard;
    }

    /// Answers for the role that works for a task, or the goal (`g`), and decides what follows.
    pub(super) fn say(&mut self, id: &str, said: GoalAnswer) -> Vec<Decision> {
        let at = (id != "g").then(|| self.at(&TaskId(format!("g/{id}").into())));
        self.answer(at, Heard::Said(Arc::new(said)));
        self.settle()
    }

    pub(super) fn fail(&mut self, id: &str, class: Class) -> Vec<Decision> {
        let at = self.at(&TaskId(format!("g/{id}").into()));
        self.answer(Some(at), Heard::Failed(Failure::new(class, "broken")));
        self.settle()
    }

    /// Whether the last answer about all of it said that something is missing: the plan's, the classifier's, the finaliser's.
    pub(super) fn was_called_unreached(&self) -> bool {
        let said = |wanted: Role| {
            let heard = |step: &Move| match step {
                Move::Role(role, Heard::Said(said)) if *role == wanted => match &**said {
                    GoalAnswer::Tasks(plan) => Some(!plan.complete),
                    GoalAnswer::More { done, achieved, .. } => Some(!done || *achieved == Some(false)),
                    GoalAnswer::Answer { achieved, .. } => Some(*achieved == Some(false)),
                    _ => None,
                },
                _ => None,
            };
            self.steps.iter().rev().find_map(heard)
        };
        said(Role::Finalise) == Some(true) || said(Role::Classify).or(said(Role::Plan)) == Some(true)
    }

    pub(super) fn standing(&self, id: &str) -> Standing {
        self.items[self.at(&TaskId(format!("g/{id}").into()))].standing
    }

    pub(super) fn status(&self) -> Status {
        status(&self.state())
    }
}

pub(super) fn step(made: &Move) -> Entry<'_> {
    match made {
        Move::Child(at) => Entry::Child(*at),
        Move::Role(role, Heard::Nothing) => Entry::Role(*role, Response::Pending),
        Move::Role(role, Heard::Failed(failure)) => Entry::Role(*role, Response::Failed(Some(failure))),
        Move::Role(role, Heard::Said(said)) => Entry::Role(*role, Response::Answered(said.clone())),
    }
}

/// A goal whose plan is taken; nothing is done yet.
pub(super) fn planned(goal: Goal, drafts: Vec<Draft>) -> Play {
    let mut play = Play::new(goal);
    play.settle();
    play.say("g", tasks(drafts));
    play
}

pub(super) fn chosen(decisions: &[Decision]) -> Vec<String> {
    let word = |decision: &Decision| match &decision.about {
        Some(id) => format!("{} {}", decision.chosen, id.to_string().trim_start_matches("g/")),
        None => decision.chosen.to_string(),
    };
    decisions.iter().map(word).collect()
}
