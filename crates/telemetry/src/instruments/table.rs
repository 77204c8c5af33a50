//! Every instrument, in one table.
//!
//! Names are those of the conventions for generative AI where they have one. They are in development: where a name has changed and
//! receivers know the old one, both are sent. What they have no name for is called `convoke.*`. Time per piece of an answer and tokens
//! of reasoning are not recorded, so their instruments are missing.

/// What an instrument counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A sum that only grows.
    Counter,
    /// A sum that goes up and down: what is going on.
    UpDown,
    /// How often a value was within which bounds.
    Histogram(Bounds),
}

/// Upper bounds of the buckets of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// Of a call.
    CallSeconds,
    /// Of what is made of calls: to a day.
    WorkSeconds,
    /// Of tokens.
    Tokens,
    /// Of calls.
    Calls,
}

/// What the whole numbers of an instrument are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Themselves.
    One,
    /// Millionths: of seconds, of dollars.
    Millionths,
}

impl Bounds {
    /// The bounds, in the unit of the instrument.
    pub const fn all(self) -> &'static [f64] {
        match self {
            // As the conventions say.
            Bounds::CallSeconds => {
                &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
            }
            Bounds::WorkSeconds => &crate::metrics::BUCKETS,
            // As the conventions say.
            Bounds::Tokens => &[
                1.0,
                4.0,
                16.0,
                64.0,
                256.0,
                1_024.0,
                4_096.0,
                16_384.0,
                65_536.0,
                262_144.0,
                1_048_576.0,
                4_194_304.0,
                16_777_216.0,
                67_108_864.0,
            ],
            Bounds::Calls => &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0],
        }
    }
}

/// One instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instrument {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub shape: Shape,
    /// Its unit, as UCUM writes it.
    pub unit: &'static str,
    /// What its whole numbers are.
    pub scale: Scale,
    /// What it says.
    pub help: &'static str,
}

macro_rules! instruments {
    ($($id:ident = $shape:expr, $unit:literal, $scale:ident, $name:literal, $help:literal;)*) => {
        $(#[doc = $help]
        pub const $id: Instrument =
            Instrument { name: $name, shape: $shape, unit: $unit, scale: Scale::$scale, help: $help };)*
        /// All of them.
        pub const ALL: &[Instrument] = &[$($id),*];
    };
}

const CALL: Shape = Shape::Histogram(Bounds::CallSeconds);
const WORK: Shape = Shape::Histogram(Bounds::WorkSeconds);
const TOKENS: Shape = Shape::Histogram(Bounds::Tokens);
const CALLS: Shape = Shape::Histogram(Bounds::Calls);

instruments! {
    INFERENCE = CALL, "s", Millionths, "gen_ai.client.inference.duration", "How long calls of models took.";
    INFERENCE_OLD = CALL, "s", Millionths, "gen_ai.client.operation.duration", "How long calls of models took (the name before).";
    FIRST_CHUNK = CALL, "s", Millionths, "gen_ai.client.inference.time_to_first_chunk", "Time until the first piece of an answer.";
    FIRST_CHUNK_OLD = CALL, "s", Millionths, "gen_ai.client.operation.time_to_first_chunk", "Time until the first piece of an answer (the name before).";
    INPUT_PER_CALL = TOKENS, "{token}", One, "gen_ai.client.inference.operation.input_tokens", "Tokens sent with a call.";
    OUTPUT_PER_CALL = TOKENS, "{token}", One, "gen_ai.client.inference.operation.output_tokens", "Tokens received from a call.";
    TOKENS_OLD = TOKENS, "{token}", One, "gen_ai.client.token.usage", "Tokens of a call, by type (the name before).";
    INPUT = Shape::Counter, "{token}", One, "gen_ai.client.inference.usage.input_tokens", "Tokens sent, those from and for the cache included.";
    OUTPUT = Shape::Counter, "{token}", One, "gen_ai.client.inference.usage.output_tokens", "Tokens received.";
    CACHE_READ = Shape::Counter, "{token}", One, "gen_ai.client.inference.usage.cache_read.input_tokens", "Tokens read from the provider's cache.";
    CACHE_WRITE = Shape::Counter, "{token}", One, "gen_ai.client.inference.usage.cache_write.input_tokens", "Tokens written to the provider's cache.";
    WORKFLOW = WORK, "s", Millionths, "gen_ai.invoke_workflow.duration", "How long runs and their sub-workflows took.";
    WORKFLOW_OLD = WORK, "s", Millionths, "gen_ai.workflow.duration", "How long runs and their sub-workflows took (the name before).";
    AGENT = WORK, "s", Millionths, "gen_ai.invoke_agent.duration", "How long attempts of agents took.";
    AGENT_CALLS = CALLS, "{call}", One, "gen_ai.invoke_agent.inference_calls", "Calls of models by one attempt of an agent.";
    AGENT_TOOLS = CALLS, "{call}", One, "gen_ai.invoke_agent.tool_calls", "Calls of tools by one attempt of an agent.";
    TOOL = WORK, "s", Millionths, "gen_ai.execute_tool.duration", "How long calls of tools, and attempts of scripts, took.";
    COST = Shape::Counter, "{USD}", Millionths, "convoke.usage.cost", "US dollars spent, as far as they are known.";
    UNPRICED = Shape::Counter, "{call}", One, "convoke.usage.unpriced_calls", "Calls of models whose cost is not known.";
    ATTEMPTS = Shape::Counter, "{attempt}", One, "convoke.attempts", "Attempts that have ended, by how.";
    FAILED_TASKS = Shape::Counter, "{task}", One, "convoke.tasks.failed", "Tasks that failed for good.";
    GATE_WAIT = WORK, "s", Millionths, "convoke.gate.wait.duration", "How long questions waited for an answer.";
    OPEN_GATES = Shape::UpDown, "{gate}", One, "convoke.gates.open", "Questions that wait for a person.";
    BUDGETS = Shape::Counter, "{budget}", One, "convoke.budgets.spent", "Budgets that could not pay a call.";
}

/// The instrument of a name.
pub fn named(name: &str) -> Option<&'static Instrument> {
    ALL.iter().find(|instrument| instrument.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_told_once_and_bounds_rise() {
        let names: HashSet<_> = ALL.iter().map(|instrument| instrument.name).collect();
        assert_eq!(names.len(), ALL.len());
        for instrument in ALL {
            assert!(instrument.name.starts_with("gen_ai.") || instrument.name.starts_with("convoke."));
            if let Shape::Histogram(bounds) = instrument.shape {
                assert!(bounds.all().is_sorted_by(|a, b| a < b), "{}", instrument.name);
            }
        }
    }
}
