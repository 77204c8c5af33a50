//! Execution manifests: the top level, agents, synthesis, verification and teams.

use super::super::manifest::{Mode, Protocol};
use super::super::section::FromNode;
use super::super::settings::Provider;
use super::super::shape::Shape::{
    Any, Boolean, Choice, Duration, Integer, List, Map, Object, OneOf, Template, Text,
};
use super::super::shape::{COUNT, Extended, ObjectType, Shape, TEXTS, optional, required};
use super::super::words::FAILURE_MODES;
use super::super::workflow::{Labels, Requires, VoteSettings};
use super::head;

/// The whole file.
pub static MANIFEST: ObjectType = ObjectType {
    name: "manifest",
    title: "an execution manifest",
    keys: &[
        optional("kind", Choice(&["execution_manifest"]), "which kind of file this is"),
        head::NAME,
        head::DESCRIPTION,
        head::VERSION,
        required("agents", List(&Shape::Extended(&AGENT)), "the agents that do the work"),
        optional("query", Template, "what is to be answered; `-i query=…` goes over it"),
        optional(
            "context",
            Template,
            "what every agent is told besides its task; `-i context=…` goes over it",
        ),
        head::INPUTS,
        optional("mode", Choice(Mode::WORDS), MODE),
        optional("execution_mode", Choice(Mode::WORDS), MODE),
        optional(
            "barrier",
            Boolean,
            "no agent begins before all of the level before have ended (default false)",
        ),
        optional("batch_size", COUNT, "with `barrier`: agents of one level at a time; else only a label"),
        optional("max_concurrency", Integer(1, 100_000), "agents at one time (default 60)"),
        optional("timeout", Duration, "bound of each agent that states none"),
        optional("max_retries", Integer(0, 100), "further attempts of each agent that states none"),
        optional("synthesis", OneOf(&[Text, Shape::Extended(&SYNTHESIS)]), "how outputs become one answer"),
        optional("verify", OneOf(&[Boolean, Choice(&["criteria"]), Shape::Extended(&VERIFY)]), VERIFY_DOC),
        optional(
            "coordination_protocol",
            Choice(Protocol::WORDS),
            "how the agents work together (default auto: by their dependencies)",
        ),
        optional("team", Object(&TEAM), "settings of the protocol"),
        optional("model_roles", Map(&Text), "models by role, for `model_role` of agents"),
        optional("provider", Provider::SHAPE, "model service of all agents: a name, or a name with settings"),
        optional("model", Text, "model of agents that name none"),
        head::MCP_SERVERS,
        head::SECRETS,
        optional("tools", TEXTS, "the names of all tools that agents may use"),
        head::RUNTIME,
        head::LIMITS,
        head::COST,
        head::HOOKS,
        head::INSTRUCTIONS,
        optional("labels", Labels::SHAPE, "priority, class and tenant of all agents"),
        optional("metadata", Map(&Any), "anything, kept with the run; `verify` and `max_retries` are read"),
        optional("manifest_id", Text, "a name of the writer's own, kept with the run"),
        optional("source", Text, "what the manifest was made from, kept with the run"),
        optional("kg_template_id", Text, "known and without effect"),
    ],
};

const MODE: &str = "how agents follow one another (default auto)";
const VERIFY_DOC: &str =
    "whether success criteria are judged (`criteria`), and the answer examined too (`true`, or settings)";

/// One agent.
pub static AGENT: Extended = Extended {
    own: ObjectType {
        name: "manifest_agent",
        title: "an agent",
        keys: &[
            optional("id", Text, "its name, unique in the manifest"),
            optional("agent_id", Text, "the same as `id`"),
            optional(
                "role",
                Text,
                "what it is; stands in its system prompt and above its output. `org:FILE#ROLE` is a role of an organisation, which gives what the agent does not say itself",
            ),
            optional("department", Text, "where it belongs; stands in its system prompt"),
            optional("task", Template, TASK),
            optional("task_template", Template, TASK),
            optional("partitions", OneOf(&[TEXTS, Text]), PARTITIONS),
            optional(
                "depends_on",
                OneOf(&[Text, List(&OneOf(&[Text, Object(&DEPENDENCY)]))]),
                "agents that must have ended before",
            ),
            optional("model_id", Template, "the same as `model`; `provider:model` names the service too"),
            optional("model_role", Text, "a key of `model_roles`"),
            optional(
                "output_schema",
                OneOf(&[Text, Map(&Any)]),
                "shape of the answer: a JSON Schema, fields, or `a, b`",
            ),
            optional("max_retries", Integer(0, 100), "further attempts after a failure (default 2)"),
            optional(
                "failure_mode",
                Choice(FAILURE_MODES),
                "with partitions: what the failure of one means (default continue_on_error)",
            ),
            optional("min", COUNT, "with `failure_mode: quorum`: how many must succeed"),
            optional("max_concurrent", Integer(1, 100_000), "with partitions: how many at one time"),
            optional("memory_channels", TEXTS, "known and without effect"),
            optional("delegation_model_menu", TEXTS, "known and without effect"),
        ],
    },
    of_steps: AGENT_STEP_KEYS,
};

const TASK: &str = "what it is asked (default: the query); `{{ partition }}` is its partition";
const PARTITIONS: &str = "once for each of these, or for each item of a list such as `workflow.input.topics`";

/// What an agent of a manifest has in common with one of a workflow.
const AGENT_STEP_KEYS: &[&str] = &[
    "description",
    "prompt",
    "system_prompt",
    "provider",
    "model",
    "models",
    "tools",
    "approve",
    "secrets",
    "timeout",
    "max_wait",
    "success_criteria",
    "temperature",
    "max_tokens",
    "output",
    "retry",
    "labels",
    "budget",
    "resources",
    "reasoning",
    "validator",
    "repair_model",
    "capabilities",
    "context_window",
    "max_agent_iterations",
    "max_session_seconds",
    "timeouts",
    "skills",
    "working_dir",
    "on_unknown",
    "idempotent",
    "dependency_outputs",
    "expects",
    "repair_input",
    "ensure",
    "protect",
];

/// An entry of `depends_on` that is not just a name.
pub static DEPENDENCY: ObjectType = ObjectType {
    name: "dependency",
    title: "a dependency",
    keys: &[
        required("agent", Text, "the agent, or one partition of it as `agent:partition`"),
        optional("requires", Choice(Requires::WORDS), "which ends are good enough (default success)"),
    ],
};

/// `synthesis`.
pub static SYNTHESIS: Extended = Extended {
    own: ObjectType {
        name: "synthesis",
        title: "`synthesis`",
        keys: &[
            optional("model_id", Template, "the same as `model`; `provider:model` names the service too"),
            optional("model_role", Text, "a key of `model_roles`"),
            optional(
                "output_schema",
                OneOf(&[Text, Map(&Any)]),
                "shape of the answer: a JSON Schema, fields, or `a, b`",
            ),
        ],
    },
    of_steps: &[
        "strategy",
        "of",
        "ratio",
        "group_tokens",
        "query",
        "instructions",
        "prompt",
        "vote",
        "rlm",
        "min_sources",
        "deadline",
        "provider",
        "model",
        "models",
        "system_prompt",
        "temperature",
        "max_tokens",
        "output",
        "success_criteria",
        "reasoning",
        "repair_model",
        "timeouts",
        "timeout",
        "retry",
    ],
};

/// `verify` with settings.
pub static VERIFY: Extended = Extended {
    own: ObjectType {
        name: "verification",
        title: "`verify`",
        keys: &[
            optional("criteria", Boolean, "whether success criteria of agents are judged too (default true)"),
            optional("model_role", Text, "a key of `model_roles`, for the model that examines and corrects"),
        ],
    },
    of_steps: &[
        "query",
        "constraints",
        "assessor",
        "repairer",
        "rounds",
        "severity",
        "when_open",
        "provider",
        "model",
        "models",
        "temperature",
        "max_tokens",
        "reasoning",
        "timeouts",
        "timeout",
        "retry",
    ],
};

/// `team`.
pub static TEAM: ObjectType = ObjectType {
    name: "team",
    title: "`team`",
    keys: &[
        optional("protocol", Choice(Protocol::WORDS), "the same as `coordination_protocol`"),
        optional(
            "lead",
            Text,
            "agent that leads (delegation, broadcast; default: the first one where one is needed)",
        ),
        optional("judge", Text, "agent that judges (debate; default: the last one)"),
        optional(
            "rounds",
            Integer(1, 50),
            "rounds of a debate (default 2), or at most of a consensus (default 3)",
        ),
        optional("vote", VoteSettings::SHAPE, "how votes are counted (voting, consensus)"),
    ],
};
