//! `capabilities`: what bounds an agent's conversation, as written on an agent or in the runtime.
//!
//! What is written goes over what stands behind it, key by key: an agent's over the runtime's, the runtime's over the
//! defaults, which are the model's.

use convoke_model as model;

use super::read;
use super::section::{FromNode, section};
use super::settings::Runtime;
use super::shape::Shape;
use super::text::Spanned;
use super::workflow::AgentStep;

section! {
    /// `capabilities` as written; what is absent says nothing.
    #[derive(Debug, Clone, Default)]
    pub struct Capabilities = "capabilities", "`capabilities`" {
        /// finds an agent that does the same thing over and over (default on)
        #[by(read::capability::stuck_loop)]
        pub stuck_loop: Option<Switch<StuckLoop>> => OneOf(&[Boolean, StuckLoop::SHAPE]),
        /// characters of a tool's result that the model is shown (default 50000)
        #[by(read::capability::tool_output)]
        pub tool_output: Option<Switch<Option<u64>>> => OneOf(&[Boolean, CHARACTERS]),
        /// leaves out the oldest turns of a long conversation (default on)
        #[by(read::capability::compaction)]
        pub compaction: Option<Spanned<Switch<Compaction>>> => OneOf(&[Boolean, Compaction::SHAPE]),
        /// tells the agent when so many percent of its context are used (default 70 and 90)
        #[by(read::capability::context_warnings)]
        pub context_warnings: Option<Switch<Option<Vec<u8>>>> => OneOf(&[Boolean, List(&PERCENT)]),
        /// rounds of tool calls (default 50)
        pub max_iterations: Option<Spanned<u64>> => Integer(1, 500),
        /// tool calls of one turn that run at the same time (default 8)
        pub parallel_tools: Option<Spanned<u64>> => Integer(1, 100),
        /// what follows when an answer has the right shape and says nothing (default note)
        pub placeholders: Option<Spanned<model::Placeholders>>,
    }
}

/// A bound of tool results.
pub(super) const CHARACTERS: Shape = Shape::Integer(1000, u64::MAX);
/// A part of the window.
pub(super) const PERCENT: Shape = Shape::Integer(1, 100);

/// Something that can be switched off, or on with settings.
#[derive(Debug, Clone, PartialEq)]
pub enum Switch<T> {
    /// `false`.
    Off,
    /// `true` (no settings of its own), or settings.
    On(T),
}

section! {
    /// `stuck_loop` with settings.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct StuckLoop = "stuck_loop", "`stuck_loop`" {
        /// how often the same thing is too often (default 3)
        pub repeats: Option<u32> => Integer(2, 1000),
        /// a word to the agent first, or failure (default warn)
        pub action: Option<model::StuckAction>,
    }
}

section! {
    /// `compaction` with settings, in percent of the window.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    pub struct Compaction = "compaction", "`compaction`" {
        /// begins when so many percent of the window are used (default 80)
        pub at: Option<u8> => PERCENT,
        /// leaves so many percent (default 50)
        pub to: Option<u8> => PERCENT,
    }
}

/// What bounds the conversations of one agent.
pub fn capabilities(runtime: &Runtime, agent: &AgentStep) -> model::Capabilities {
    let standard = model::Capabilities::default();
    let cap = &runtime.tool_output;
    let base = model::Capabilities {
        tool_output: cap.enabled.then_some(cap.max_chars),
        max_iterations: number(runtime.max_agent_iterations.as_ref(), standard.max_iterations),
        context_window: window(runtime.context_window.as_ref(), standard.context_window),
        window_source: match runtime.context_window.is_some() || agent.context_window.is_some() {
            true => model::WindowSource::Stated,
            false => model::WindowSource::Guess,
        },
        ..standard
    };
    let base = runtime.capabilities.over(base);
    let base = model::Capabilities {
        max_iterations: number(agent.max_agent_iterations.as_ref(), base.max_iterations),
        context_window: window(agent.context_window.as_ref(), base.context_window),
        ..base
    };
    agent.capabilities.over(base)
}

impl Capabilities {
    fn over(&self, base: model::Capabilities) -> model::Capabilities {
        let standard = model::Capabilities::default();
        let warnings = Some(base.context_warnings).filter(|warnings| !warnings.is_empty());
        let warnings = switch(self.context_warnings.as_ref(), warnings, |written, base| {
            written.clone().or(base).unwrap_or(standard.context_warnings)
        });
        model::Capabilities {
            context_window: base.context_window,
            window_source: base.window_source,
            stuck_loop: switch(self.stuck_loop.as_ref(), base.stuck_loop, StuckLoop::over),
            tool_output: switch(self.tool_output.as_ref(), base.tool_output, |written, base| {
                written.or(base).or(standard.tool_output).unwrap_or(u64::MAX)
            }),
            compaction: switch(
                self.compaction.as_ref().map(|written| &written.value),
                base.compaction,
                Compaction::over,
            ),
            context_warnings: warnings.unwrap_or_default(),
            max_iterations: number(self.max_iterations.as_ref(), base.max_iterations),
            parallel_tools: number(self.parallel_tools.as_ref(), base.parallel_tools),
            placeholders: self.placeholders.as_ref().map_or(base.placeholders, |written| written.value),
        }
    }
}

impl StuckLoop {
    fn over(&self, base: Option<model::StuckLoop>) -> model::StuckLoop {
        let base = base.unwrap_or_default();
        model::StuckLoop {
            repeats: self.repeats.unwrap_or(base.repeats),
            action: self.action.unwrap_or(base.action),
        }
    }
}

impl Compaction {
    fn over(&self, base: Option<model::Compaction>) -> model::Compaction {
        let base = base.unwrap_or_default();
        model::Compaction { at: self.at.unwrap_or(base.at), to: self.to.unwrap_or(base.to) }
    }
}

/// What is written, over what stands behind it; `None` is off.
fn switch<T, M>(
    written: Option<&Switch<T>>,
    base: Option<M>,
    on: impl FnOnce(&T, Option<M>) -> M,
) -> Option<M> {
    match written {
        None => base,
        Some(Switch::Off) => None,
        Some(Switch::On(settings)) => Some(on(settings, base)),
    }
}

fn number(written: Option<&Spanned<u64>>, base: u32) -> u32 {
    written.map_or(base, |written| u32::try_from(written.value).unwrap_or(u32::MAX))
}

fn window(written: Option<&Spanned<u64>>, base: u64) -> u64 {
    written.map_or(base, |written| written.value)
}
