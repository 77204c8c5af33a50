//! Every name that a span or a log record can have on it, in one table.
//!
//! OpenTelemetry's conventions for generative AI are in development: a name that changes is changed here. Where a name has changed and
//! receivers know the old one, both are sent.

/// Operations, in `gen_ai.operation.name` and at the beginning of a span's name.
pub mod operation {
    /// A run, or a sub-workflow of it.
    pub const WORKFLOW: &str = "invoke_workflow";
    /// An attempt of an agent.
    pub const AGENT: &str = "invoke_agent";
    /// An attempt that plans the way to a goal.
    pub const PLAN: &str = "plan";
    /// A call of a model.
    pub const CHAT: &str = "chat";
    /// The same, by Gemini's interface.
    pub const GENERATE: &str = "generate_content";
    /// A call of a tool, or a command.
    pub const TOOL: &str = "execute_tool";
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*
        /// All of them.
        pub const ALL: &[&str] = &[$($text),*];
    };
}

names! {
    /// What is done.
    OPERATION = "gen_ai.operation.name";
    /// The workflow.
    WORKFLOW = "gen_ai.workflow.name";
    /// The run, or the conversation of a task.
    CONVERSATION = "gen_ai.conversation.id";
    /// The step that asks a model.
    AGENT = "gen_ai.agent.name";
    /// What the step is for.
    AGENT_DESCRIPTION = "gen_ai.agent.description";
    /// The service.
    PROVIDER = "gen_ai.provider.name";
    /// The model that is asked.
    MODEL = "gen_ai.request.model";
    /// The most tokens of an answer.
    MAX_TOKENS = "gen_ai.request.max_tokens";
    /// Sampling temperature.
    TEMPERATURE = "gen_ai.request.temperature";
    /// Whether the answer was read as it was made.
    STREAM = "gen_ai.request.stream";
    /// How much the model is to think.
    REASONING = "gen_ai.request.reasoning.level";
    /// The shape of the answer: `json` where one is declared.
    OUTPUT_TYPE = "gen_ai.output.type";
    /// The model that answered.
    RESPONSE_MODEL = "gen_ai.response.model";
    /// Why it stopped.
    FINISH_REASONS = "gen_ai.response.finish_reasons";
    /// Seconds until the first piece of the answer.
    FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    /// Tokens sent, those from and for the cache included.
    INPUT_TOKENS = "gen_ai.usage.input_tokens";
    /// Tokens received.
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    /// Tokens read from the cache.
    CACHE_READ = "gen_ai.usage.cache_read.input_tokens";
    /// Tokens written to the cache.
    CACHE_WRITE = "gen_ai.usage.cache_write.input_tokens";
    /// Its name before.
    CACHE_WRITE_OLD = "gen_ai.usage.cache_creation.input_tokens";
    /// Dollars; the conventions have no name for it yet, and Langfuse reads this one.
    COST = "gen_ai.usage.cost";
    /// Dollars, as Phoenix (OpenInference) reads them.
    COST_OPENINFERENCE = "llm.cost.total";
    /// The tool.
    TOOL = "gen_ai.tool.name";
    /// Of which kind it is.
    TOOL_TYPE = "gen_ai.tool.type";
    /// The model's name for the call.
    TOOL_CALL = "gen_ai.tool.call.id";
    /// What it was called with. A content.
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments";
    /// What it gave. A content.
    TOOL_RESULT = "gen_ai.tool.call.result";
    /// What the model was sent. A content.
    INPUT_MESSAGES = "gen_ai.input.messages";
    /// What the model said. A content.
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    /// The system prompt. A content.
    SYSTEM = "gen_ai.system_instructions";
    /// The kind of failure.
    ERROR = "error.type";
    /// The program of a script step.
    EXECUTABLE = "process.executable.name";
    /// How it ended.
    EXIT_CODE = "process.exit.code";
    /// The run.
    RUN = "convoke.run";
    /// How the run ended.
    STATUS = "convoke.status";
    /// The task.
    TASK = "convoke.task";
    /// Which attempt of it.
    ATTEMPT = "convoke.attempt";
    /// What kind of step it is of.
    STEP_KIND = "convoke.step.kind";
    /// What the call was for, where it was not for the step's answer.
    PURPOSE = "convoke.call.purpose";
    /// How an attempt ended that came to no end of its own: `suspended`, `lost`, `detached`.
    END = "convoke.attempt.end";
    /// What the task was skipped or cancelled for.
    CAUSE = "convoke.cause";
    /// The answer to a question, by whom.
    ANSWERED_BY = "convoke.answered_by";
    /// Tokens sent by everything below.
    TOTAL_INPUT = "convoke.usage.input_tokens";
    /// Tokens received by everything below.
    TOTAL_OUTPUT = "convoke.usage.output_tokens";
    /// Dollars spent by everything below, as far as they are known.
    TOTAL_COST = "convoke.usage.cost";
    /// Calls whose cost is not known.
    UNPRICED = "convoke.usage.unpriced_calls";
    /// Some numbers are estimates.
    ESTIMATED = "convoke.usage.estimated";
    /// What a link means: `retry`, `fork`, `reopened`.
    LINK = "convoke.link";
    /// By this a receiver knows a log record that comes again.
    RECORD = "log.record.uid";
    /// The kind of failure of a call.
    EXCEPTION = "exception.type";
    /// What it said. A content.
    EXCEPTION_MESSAGE = "exception.message";
    /// Who judged an answer: `validator`, `success_criteria`.
    EVALUATION = "gen_ai.evaluation.name";
    /// How it was judged: `pass`, `fail`.
    EVALUATION_LABEL = "gen_ai.evaluation.score.label";
    /// Why. A content.
    EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation";
    /// The number of the event in the run's journal.
    SEQ = "convoke.seq";
    /// What exactly went wrong, within the kind of failure.
    REASON = "convoke.reason";
    /// The stable word of a note.
    CODE = "convoke.code";
    /// What a person was told or asked. A content.
    MESSAGE = "convoke.message";
    /// Seconds that something took.
    DURATION = "convoke.duration";
}

/// Those that hold what was said: only with contents.
pub const CONTENTS: [&str; 8] = [
    TOOL_ARGUMENTS,
    TOOL_RESULT,
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    SYSTEM,
    EXCEPTION_MESSAGE,
    EVALUATION_EXPLANATION,
    MESSAGE,
];

/// The conventions' name of a provider.
pub fn provider(name: &str) -> &str {
    match name {
        "openai-responses" => "openai",
        "claude" => "anthropic",
        "gemini" => "gcp.gemini",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// What the conventions call a call of a provider's model.
pub fn model_operation(provider: &str) -> &'static str {
    if provider == "gemini" { operation::GENERATE } else { operation::CHAT }
}
