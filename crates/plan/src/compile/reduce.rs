//! Reduce and verify steps: the nodes that they ask stand beside them, under names that no template can use.

mod prompts;

use super::build::Builder;
use super::shapes::{choice, findings};
use crate::check::outline::Item;
use crate::plan::*;
use crate::source::workflow as source;
use convoke_model::{AgentSettings, OutputSchema};
use std::sync::Arc;

/// Outputs in one call, where nothing is said.
const RATIO: u32 = 10;
/// Tokens of outputs in one call, where nothing is said.
const GROUP_TOKENS: u64 = 24_000;
/// The share that wins a vote by threshold, where nothing is said.
const THRESHOLD: f64 = 0.66;
/// How often an answer is corrected, where nothing is said.
const ROUNDS: u32 = 2;

impl Builder<'_> {
    pub(super) fn reduce(&mut self, step: &source::Step, reduce: &source::ReduceStep) -> Reduce {
        let of = match reduce.of.is_empty() {
            true => step.common.needs.iter().map(|need| self.named(&need.step.value)).collect(),
            false => reduce.of.iter().map(|name| self.named(&name.value)).collect(),
        };
        let strategy = self.strategy(step, reduce);
        let merger = strategy.may_ask().then(|| self.merger(step, reduce));
        let kind = if strategy.chooses() { PromptKind::Choose } else { PromptKind::Merge };
        let prompt = merger.map(|_| self.helper_prompt(kind, &reduce.agent));
        let rlm = matches!(strategy, Strategy::Auto | Strategy::Rlm).then(|| self.rlm(step, reduce));
        Reduce {
            strategy,
            of,
            titles: reduce.titles.clone(),
            ratio: reduce.ratio.as_ref().map_or(RATIO, |ratio| ratio.value as u32),
            group_tokens: reduce.group_tokens.as_ref().map_or(GROUP_TOKENS, |tokens| tokens.value),
            query: self.texts.optional(reduce.query.as_ref()),
            instructions: self.texts.optional(reduce.instructions.as_ref()),
            prompt,
            merger,
            vote: (strategy == Strategy::Vote).then(|| vote(reduce.vote.as_ref())),
            rlm,
            min_sources: reduce.min_sources.as_ref().map_or(1, |count| count.value as u32),
            deadline_ms: reduce.deadline.as_ref().map(|limit| limit.value.as_millis() as u64),
        }
    }

    /// What `auto` means where the file tells how many outputs there can be: a few never need a model.
    fn strategy(&self, step: &source::Step, reduce: &source::ReduceStep) -> Strategy {
        let stated = reduce.strategy.value;
        let most = self.outline.most_sources(step, reduce);
        match most.map(|most| stated.resolve(most as usize)) {
            Some(Strategy::Flat) => Strategy::Flat,
            _ => stated,
        }
    }

    fn merger(&mut self, step: &source::Step, reduce: &source::ReduceStep) -> NodeIx {
        let (role, schema) = match reduce.strategy.value {
            strategy if strategy.chooses() => (prompts::JUDGE, Some(choice())),
            _ => (prompts::MERGER, None),
        };
        let raw = schema.is_none() && reduce.agent.output.is_none();
        self.helper(step, "merge", role, &reduce.agent, schema, raw)
    }

    fn rlm(&mut self, step: &source::Step, reduce: &source::ReduceStep) -> Rlm {
        let stated = reduce.rlm.clone().unwrap_or_default();
        let mut reader = source::AgentStep { output: None, system_prompt: None, ..(*reduce.agent).clone() };
        // What is judged is the answer, not the parts that a program asks for.
        (reader.success_criteria, reader.validator) = (None, None);
        if stated.model.is_some() {
            (reader.model, reader.models) = (stated.model.clone(), None);
        }
        let number = |value: &Option<crate::source::Spanned<u64>>, default: u64| {
            value.as_ref().map_or(default, |value| value.value)
        };
        Rlm {
            max_turns: number(&stated.max_turns, 8) as u32,
            max_depth: number(&stated.max_depth, 3) as u32,
            max_calls: number(&stated.max_calls, 200) as u32,
            time_ms: stated.time.as_ref().map_or(60_000, |time| time.value.as_millis() as u64),
            memory: number(&stated.memory_mb, 512) << 20,
            metadata_chars: number(&stated.metadata_chars, 8_000),
            writer: self.helper(
                step,
                "program",
                prompts::PROGRAMMER,
                &reduce.agent,
                None,
                reduce.agent.output.is_none(),
            ),
            reader: self.helper(step, "llm", prompts::READER, &reader, None, true),
        }
    }

    pub(super) fn verify(&mut self, step: &source::Step, verify: &source::VerifyStep) -> Verify {
        let needed = || step.common.needs.first().map(|need| &need.step);
        let of = verify.of.as_ref().or_else(needed).expect("a verify step names what it examines");
        let mut repairer = verify.repairer.clone();
        repairer.output = repairer.output.or_else(|| self.declared_output(&of.value));
        let raw = repairer.output.is_none();
        Verify {
            of: self.named(&of.value),
            query: self.texts.optional(verify.query.as_ref()),
            constraints: self.texts.optional(verify.constraints.as_ref()),
            assess: self.helper_prompt(PromptKind::Assess, &verify.assessor),
            assessor: self.helper(
                step,
                "assess",
                prompts::ASSESSOR,
                &verify.assessor,
                Some(findings()),
                false,
            ),
            correct: self.helper_prompt(PromptKind::Correct, &verify.repairer),
            repairer: self.helper(step, "repair", prompts::REPAIRER, &repairer, None, raw),
            rounds: verify.rounds.as_ref().map_or(ROUNDS, |rounds| rounds.value as u32),
            severity: verify.severity.as_ref().map_or(Severity::Medium, |severity| severity.value),
            fail_when_open: verify.fail_when_open,
        }
    }

    /// The agent that puts an output into the shape that a step expects; which shape is said in each call.
    pub(super) fn input_repairer(&mut self, step: &source::Step, asked: &source::AgentStep) -> NodeIx {
        let asked = source::AgentStep { output: None, output_mode: None, ..asked.clone() };
        self.helper(step, "repair_input", prompts::INPUT_REPAIRER, &asked, None, false)
    }

    /// What a model is asked: the words of the step, else ours.
    pub(super) fn helper_prompt(&mut self, kind: PromptKind, own: &source::AgentStep) -> Text {
        match &own.prompt {
            Some(prompt) => self.texts.text(prompt),
            None => self.texts.own(prompts::prompt(kind)),
        }
    }

    /// What a corrected answer looks like: as the answer did that is corrected.
    fn declared_output(&self, name: &str) -> Option<source::OutputSchema> {
        let Item::Step(step) = self.outline.items[self.outline.find(name)?] else { return None };
        match &step.kind {
            source::StepKind::Agent(agent) => agent.output.clone(),
            source::StepKind::Reduce(reduce) => reduce.agent.output.clone(),
            source::StepKind::Tool(tool) => tool.output.clone(),
            _ => None,
        }
    }

    /// A node that a step has asked on its way. It has no tools, and no skills but those that are
    /// named for it: what it needs to know is in its prompt.
    fn helper(
        &mut self,
        step: &source::Step,
        what: &str,
        role: &str,
        asked: &source::AgentStep,
        schema: Option<OutputSchema>,
        raw: bool,
    ) -> NodeIx {
        let skills = asked.skills.clone().unwrap_or_default();
        let (tools, skills, prompt) = (Some(Vec::new()), Some(skills), None);
        let asked = source::AgentStep { tools, skills, prompt, ..asked.clone() };
        let mut agent = self.agent(&asked, step.common.retry.as_ref());
        let settings = AgentSettings {
            schema: schema.or(agent.settings.schema.clone()),
            raw: raw || agent.settings.raw,
            ..(*agent.settings).clone()
        };
        agent.settings = Arc::new(settings);
        agent.system = agent.system.or_else(|| Some(Text::Literal(role.trim_end().into())));
        let name = self.free_name(format!("${}.{what}", step.name.value));
        let node = self.asked_node(&name, agent, step);
        self.add(node)
    }

    /// A name that no other node has: bodies of two fan-outs may be called alike.
    pub(super) fn free_name(&self, name: String) -> String {
        let is_free = |name: &str| !self.extra.iter().any(|node| &*node.name == name);
        match is_free(&name) {
            true => name,
            false => (2u32..)
                .map(|count| format!("{name}_{count}"))
                .find(|name| is_free(name))
                .expect("numbers go on"),
        }
    }
}

fn vote(stated: Option<&source::VoteSettings>) -> Vote {
    let stated = stated.cloned().unwrap_or_default();
    let method = match stated.method.map_or(source::VoteWord::Majority, |method| method.value) {
        source::VoteWord::Majority => VoteMethod::Majority,
        source::VoteWord::Unanimous => VoteMethod::Unanimous,
        source::VoteWord::Ranked => VoteMethod::Ranked,
        source::VoteWord::Threshold => {
            VoteMethod::Threshold(stated.threshold.map_or(THRESHOLD, |share| share.value))
        }
    };
    let usual = if method == VoteMethod::Ranked { "ranking" } else { "vote" };
    Vote {
        method,
        field: stated.field.map_or(usual.to_owned(), |field| field.value),
        options: stated.options.iter().map(|option| option.value.clone()).collect(),
        tie: stated.tie.map_or(Tie::Undecided, |tie| tie.value),
        quorum: stated.quorum.map_or(1, |count| count.value as u32),
    }
}
