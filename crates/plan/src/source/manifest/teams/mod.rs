//! Teams: the protocols by which agents work together, as steps, groups and routes.
//!
//! Nothing is simulated: members are asked, votes are counted, rounds repeat by routes until they have decided or are
//! used up. Each protocol is a file; what they share is the roster (lead, judge, members) and how
//! its members are asked.

mod assign;
mod debate;
mod pass;
mod rounds;
mod shapes;
mod votes;

use super::super::text::Spanned;
use super::super::workflow::{
    Common, ErrorRoute, FailureMode, Need, ParallelGroup, Requires, Route, Step, StepKind,
};
use super::lower::{Reached, Source, Work};
use super::synthesis::MERGED;
use super::texts::Texts;
use super::{AgentSpec, Manifest, Protocol, Team, agents, lower, report};
use crate::diagnostic::{Diagnostic, Span};
use crate::plan::Strategy;

/// Tokens of each output that a member is handed.
const HANDED_OVER: u64 = 16_000;

/// Names of steps that belong to no agent.
const OWN_STEPS: &[&str] =
    &["assignments", "positions", "rounds", "sides", "transcript", MERGED, super::synthesis::VERIFIED];

/// The steps of a team.
pub(super) fn work(manifest: &Manifest, team: &Team, findings: &mut Vec<Diagnostic>) -> Work {
    let before = findings.len();
    let roster = Roster::new(manifest, team, findings);
    roster.check(findings);
    if findings.len() > before {
        // Something is wrong and said; what else is, shows in the agents as they are.
        return lower::by_dependencies(manifest, findings);
    }
    match team.protocol.value {
        Protocol::Delegation => assign::work(&roster),
        Protocol::Handoff => pass::handoff(&roster),
        Protocol::Broadcast => pass::broadcast(&roster),
        Protocol::Voting => votes::work(&roster),
        Protocol::Consensus => rounds::work(&roster),
        Protocol::Debate => debate::work(&roster),
        Protocol::Auto => lower::by_dependencies(manifest, findings),
    }
}

/// The parts of a team's members.
pub(super) struct Roster<'a> {
    pub manifest: &'a Manifest,
    pub team: &'a Team,
    pub texts: Texts,
    /// The lead or judge, where the protocol has such a part.
    pub chair: Option<&'a AgentSpec>,
    /// All other members, in the order of the file.
    pub members: Vec<&'a AgentSpec>,
}

impl<'a> Roster<'a> {
    fn new(manifest: &'a Manifest, team: &'a Team, findings: &mut Vec<Diagnostic>) -> Self {
        let agents = &manifest.agents;
        let named = match team.protocol.value {
            Protocol::Delegation | Protocol::Broadcast => team.lead.as_ref(),
            Protocol::Debate => team.judge.as_ref(),
            _ => None,
        };
        let found = named.map(|name| find(agents, name, findings));
        let chair = match (found, team.protocol.value) {
            (Some(found), _) => found,
            (None, Protocol::Delegation) => agents.first(),
            (None, Protocol::Debate) => agents.last(),
            (None, _) => None,
        };
        let is_member = |spec: &&AgentSpec| chair.is_none_or(|chair| !std::ptr::eq(*spec, chair));
        Self {
            manifest,
            team,
            texts: Texts::new(manifest),
            chair,
            members: agents.iter().filter(is_member).collect(),
        }
    }

    fn check(&self, findings: &mut Vec<Diagnostic>) {
        let word = self.team.protocol.value.word();
        for (key, place, fits) in self.settings() {
            if let (Some(place), false) = (place, fits) {
                let message = format!("`{key}` of `team` has no meaning with the protocol `{word}`");
                findings.push(Diagnostic::error(
                    "workflow::needs_key",
                    message,
                    place,
                    "has no meaning here",
                ));
            }
        }
        let least =
            if matches!(self.team.protocol.value, Protocol::Consensus | Protocol::Debate) { 2 } else { 1 };
        if self.members.len() < least {
            let chair = usize::from(self.chair.is_some());
            let (all, found) = (least + chair, self.members.len() + chair);
            let who = match self.team.protocol.value {
                Protocol::Debate => " (two sides and a judge)",
                Protocol::Delegation => " (a lead and a member)",
                _ => "",
            };
            let agents = if all == 1 { "agent" } else { "agents" };
            let message = format!("the protocol `{word}` needs at least {all} {agents}{who}, found {found}");
            let place = self.team.protocol.span.clone();
            findings.push(Diagnostic::error("workflow::out_of_range", message, place, "too few agents"));
        }
        findings.extend(self.contradicted());
        if matches!(self.team.protocol.value, Protocol::Voting | Protocol::Consensus) {
            findings.extend(self.members.iter().filter_map(|spec| votes::no_vote(self, spec)));
        }
        for spec in &self.manifest.agents {
            findings.extend(self.apart(spec).or_else(|| self.taken(spec)));
        }
    }

    /// The protocol says what the answer is made of; a synthesis that says otherwise contradicts it.
    fn contradicted(&self) -> Option<Diagnostic> {
        let (word, step) = (self.team.protocol.value.word(), &self.manifest.synthesis.step);
        let votes = matches!(self.team.protocol.value, Protocol::Voting | Protocol::Consensus);
        let (key, place) = match step.of.first() {
            Some(name) => ("of", &name.span),
            None if votes && !matches!(step.strategy.value, Strategy::Auto | Strategy::Vote) => {
                ("strategy", &step.strategy.span)
            }
            None => return None,
        };
        let message = format!("`{key}` of `synthesis` contradicts the protocol `{word}`");
        let found = Diagnostic::error("workflow::excludes", message, place.clone(), "keep one of the two");
        Some(found.also(self.team.protocol.span.clone(), "the protocol"))
    }

    fn settings(&self) -> [(&'static str, Option<Span>, bool); 4] {
        let protocol = self.team.protocol.value;
        let place = |name: &Option<Spanned<String>>| name.as_ref().map(|name| name.span.clone());
        let votes = matches!(protocol, Protocol::Voting | Protocol::Consensus);
        let vote = self.team.vote.as_ref().map(|_| self.team.protocol.span.clone());
        let rounds = self.team.rounds.as_ref().map(|rounds| rounds.span.clone());
        [
            ("lead", place(&self.team.lead), matches!(protocol, Protocol::Delegation | Protocol::Broadcast)),
            ("judge", place(&self.team.judge), protocol == Protocol::Debate),
            ("rounds", rounds, matches!(protocol, Protocol::Consensus | Protocol::Debate)),
            ("vote", vote, votes),
        ]
    }

    /// Steps of our own have fixed names, by which templates know them.
    fn taken(&self, spec: &AgentSpec) -> Option<Diagnostic> {
        OWN_STEPS.contains(&spec.id.value.as_str()).then(|| {
            let message =
                format!("agent `{}` has the name of a step that teams have by themselves", spec.id.value);
            let found =
                Diagnostic::error("workflow::reserved_name", message, spec.id.span.clone(), "reserved");
            found.help(format!("reserved are {}", OWN_STEPS.join(", ")))
        })
    }

    /// The protocol orders the agents; an agent that says it too contradicts it.
    fn apart(&self, spec: &AgentSpec) -> Option<Diagnostic> {
        let word = self.team.protocol.value.word();
        let key = match (spec.depends_on.is_empty(), &spec.partitions) {
            (false, _) => "depends_on",
            (true, Some(_)) => "partitions",
            (true, None) => return None,
        };
        let message = format!(
            "agent `{}` has `{key}`, and the protocol `{word}` sets the order of agents",
            spec.id.value
        );
        let found = Diagnostic::error("workflow::excludes", message, spec.id.span.clone(), "not in a team");
        Some(found.also(self.team.protocol.span.clone(), "the protocol"))
    }

    /// A step in which an agent is asked for its task, with words behind it.
    pub fn asks(&self, spec: &AgentSpec, name: &str, after: &str) -> Step {
        let mut agent = agents::dressed(self.manifest, &self.texts, spec);
        agent.prompt = Some(self.texts.prompt(spec, false, after));
        let name = Spanned::new(name.to_owned(), spec.id.span.clone());
        Step { name, kind: StepKind::Agent(Box::new(agent)), common: agents::described(spec) }
    }

    /// What the answer is made of: the outputs of these agents.
    pub fn sources(&self, specs: &[&AgentSpec]) -> Vec<Source> {
        let roles = agents::roles(self.manifest);
        let source = |spec: &&AgentSpec| Source {
            name: spec.id.clone(),
            title: agents::title(&roles, spec),
            count: Some(1),
        };
        specs.iter().map(source).collect()
    }

    /// What the result says about the team.
    pub fn shape(&self, counted: Vec<(&'static str, String)>) -> report::Shape {
        let mut known = serde_json::Map::new();
        known.insert("protocol".to_owned(), self.team.protocol.value.word().into());
        known.insert("agent_count".to_owned(), self.manifest.agents.len().into());
        report::Shape { known, counted }
    }

    pub fn span(&self) -> &Span {
        &self.team.protocol.span
    }

    /// The names of all members, for prompts.
    pub fn names(&self) -> String {
        let named = |spec: &&AgentSpec| match &spec.role {
            Some(role) => format!("{} ({})", spec.id.value, role.value),
            None => spec.id.value.clone(),
        };
        super::texts::literal(&self.members.iter().map(named).collect::<Vec<_>>().join(", "))
    }
}

fn find<'a>(
    agents: &'a [AgentSpec],
    name: &Spanned<String>,
    findings: &mut Vec<Diagnostic>,
) -> Option<&'a AgentSpec> {
    let found = agents.iter().find(|spec| spec.id.value == name.value);
    if found.is_none() {
        let ids: Vec<&str> = agents.iter().map(|spec| spec.id.value.as_str()).collect();
        let message = format!("`team` names `{}`, and no agent is called so", name.value);
        let error = Diagnostic::error("workflow::unknown_value", message, name.span.clone(), "no such agent");
        findings.push(match convoke_model::nearest(&name.value, ids.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("agents are {}", ids.join(", "))),
        });
    }
    found
}

/// Work without steps yet.
fn nothing(reached: Reached, sources: Vec<Source>, shape: report::Shape) -> Work {
    Work {
        steps: Vec::new(),
        parallel: Vec::new(),
        for_each: Vec::new(),
        entry: Vec::new(),
        iterations: None,
        sources,
        reached,
        leads_back: None,
        merger: None,
        vote: None,
        shape,
    }
}

fn need(step: &Spanned<String>, requires: Requires) -> Need {
    Need { step: step.clone(), requires, order: false, item: None, span: step.span.clone() }
}

/// A failure ends its branch and no more.
fn ends_alone(span: &Span) -> Vec<ErrorRoute> {
    let to = Spanned::new("$end".to_owned(), span.clone());
    vec![ErrorRoute { classes: Vec::new(), to, span: span.clone() }]
}

/// Members that are asked at the same time, once per round.
fn round(roster: &Roster<'_>, name: &str, leads_to: &str) -> ParallelGroup {
    let span = roster.span();
    let mut common = Common::at(span);
    common.routes = vec![route(leads_to, None, span)];
    ParallelGroup {
        name: Spanned::new(name.to_owned(), span.clone()),
        agents: roster.members.iter().map(|spec| spec.id.clone()).collect(),
        failure_mode: FailureMode::ContinueOnError,
        max_concurrent: None,
        common,
    }
}

fn route(to: &str, when: Option<String>, span: &Span) -> Route {
    Route {
        to: Spanned::new(to.to_owned(), span.clone()),
        when: when.map(|when| super::super::text::Text::opaque(when, span.clone())),
        output: None,
        span: span.clone(),
    }
}

/// How many steps routes may start in so many rounds, with room for what follows them.
fn iterations(roster: &Roster<'_>, rounds: u64) -> Option<Spanned<u64>> {
    let each = roster.members.len() as u64 + 3;
    Some(Spanned::new(rounds * each + 10, roster.span().clone()))
}
