//! Persona manifests: the top level, personas, relationships, the pipeline, actors and events.

use super::super::personas::Kind;
use super::super::section::FromNode;
use super::super::settings::Provider;
use super::super::shape::Shape::{
    Any, Boolean, Choice, Extended as With, Integer, List, Map, Object, OneOf, Template, Text,
};
use super::super::shape::{Extended, ObjectType, Shape, TEXTS, optional, required};
use super::super::words::{ON_WORDS, TOPOLOGIES, VIOLATIONS};
use super::super::workflow::Labels;
use super::super::workflow::ensure::ENSURE;
use super::head;

/// The whole file.
pub static PERSONAS: ObjectType = ObjectType {
    name: "persona_manifest",
    title: "a persona manifest",
    keys: &[
        optional("kind", Choice(&["persona_manifest"]), "which kind of file this is"),
        required("schemaVersion", Choice(&["1"]), "version of the format"),
        head::NAME,
        head::DESCRIPTION,
        head::VERSION,
        required("personas", List(&Object(&PERSONA)), "the roles"),
        optional("relationships", List(&Object(&RELATIONSHIP)), "which personas may hand work to which"),
        optional("topologies", List(&Choice(TOPOLOGIES)), "the kinds of blocks that the pipeline uses"),
        required("pipeline", Object(&PIPELINE), "the phases and what leads from one to another"),
        optional("topologyConstraints", Object(&TOPOLOGY_CONSTRAINTS), "bounds of every phase"),
        optional("events", List(&OneOf(&[Text, Object(&EVENT)])), "domain events besides the standard ones"),
        optional(
            "actors",
            Map(&With(&ACTOR)),
            "the actors that play the personas (default: a model of the run's provider)",
        ),
        optional("hardFailures", Integer(1, 1_000), "so many hard failures in a row end the run (default 3)"),
        optional(
            "violationMode",
            Choice(VIOLATIONS),
            "what a violation of a contract comes to (default hard_abort)",
        ),
        optional("project", OneOf(&[Boolean, Text]), PROJECT),
        head::INPUTS,
        optional("provider", Provider::SHAPE, "model service of all actors: a name, or a name with settings"),
        optional("model", Text, "model of personas and actors that name none"),
        head::MCP_SERVERS,
        head::SECRETS,
        optional("tools", TEXTS, "the names of all tools that personas may use"),
        head::RUNTIME,
        head::LIMITS,
        head::COST,
        head::HOOKS,
        head::INSTRUCTIONS,
        optional("labels", Labels::SHAPE, "priority, class and tenant of all phases"),
        optional("metadata", Map(&Any), "anything, kept with the run"),
    ],
};

const PROJECT: &str =
    "whether what the runs of a project share is read and changed (default true), or the file that holds it";

/// One role.
pub static PERSONA: ObjectType = ObjectType {
    name: "persona",
    title: "a persona",
    keys: &[
        required("id", Text, "its name, unique in the manifest"),
        optional(
            "role",
            Text,
            "a role of an organisation, `org:FILE#ROLE`: gives what the persona does not say itself",
        ),
        optional("displayName", Text, "what people call it"),
        required("systemPromptTemplate", Template, "what it is told about itself"),
        optional(
            "modelConstraint",
            Text,
            "the only model that may play it; `provider:model` names the service too",
        ),
        optional("toolClearance", Object(&CLEARANCE), "the tools that it may use (default: all)"),
        optional(
            "actorId",
            Text,
            "the actor that plays it where work is handed to it (default: the actor of the phase)",
        ),
        optional("ensure", ENSURE, "what must hold wherever it says that its work is done"),
        optional("protect", TEXTS, "patterns of files that its work must leave as they are"),
    ],
};

/// `toolClearance`.
pub static CLEARANCE: ObjectType = ObjectType {
    name: "tool_clearance",
    title: "`toolClearance`",
    keys: &[
        optional("allowlist", TEXTS, "tools that may be used; left out means all, an empty list none"),
        optional("banlist", TEXTS, "tools that may not be used, also where the other list has them"),
    ],
};

/// An entry of `relationships`.
pub static RELATIONSHIP: ObjectType = ObjectType {
    name: "relationship",
    title: "a relationship",
    keys: &[
        required("parentPersonaId", Text, "the persona that hands work out"),
        required("childPersonaId", Text, "the persona that does it"),
        optional("constraints", Object(&RELATIONSHIP_CONSTRAINTS), "its bounds"),
    ],
};

/// `constraints` of a relationship.
pub static RELATIONSHIP_CONSTRAINTS: ObjectType = ObjectType {
    name: "relationship_constraints",
    title: "`constraints`",
    keys: &[
        optional("maxDepth", Integer(1, 1_000), "how deep below the phase the child may stand"),
        optional("maxChildren", Integer(1, 10_000), "how many of them one parent may have at a time"),
    ],
};

/// `pipeline`.
pub static PIPELINE: ObjectType = ObjectType {
    name: "pipeline",
    title: "`pipeline`",
    keys: &[
        required("entryNodeId", Text, "the phase that begins"),
        required("nodes", List(&With(&NODE)), "the phases"),
        optional("edges", List(&Object(&EDGE)), "what leads from one phase to another"),
    ],
};

/// One phase.
pub static NODE: Extended = Extended {
    own: ObjectType {
        name: "pipeline_node",
        title: "a node",
        keys: &[
            required("id", Text, "its name, unique in the pipeline"),
            required("actorId", Text, "the actor of the phase; one without an entry in `actors` is a model"),
            required("personaId", Text, "in which role"),
            optional("task", Template, "what this phase is to do"),
            optional("constraints", Object(&NODE_CONSTRAINTS), "its bounds"),
            optional("topology", Object(&TOPOLOGY), "the block that it belongs to"),
        ],
    },
    of_steps: &[
        "description",
        "timeout",
        "max_wait",
        "budget",
        "labels",
        "retry",
        "workspace",
        "ports",
        "merge",
        "ensure",
        "protect",
    ],
};

/// `constraints` of a node.
pub static NODE_CONSTRAINTS: ObjectType = ObjectType {
    name: "node_constraints",
    title: "`constraints`",
    keys: &[optional("maxRetries", Integer(0, 1_000), RETRIES)],
};

const RETRIES: &str = "further tries after a failed validation";

/// `topology` of a node.
pub static TOPOLOGY: ObjectType = ObjectType {
    name: "topology",
    title: "`topology`",
    keys: &[
        required("kind", Choice(TOPOLOGIES), "how the members of the block run"),
        optional("blockId", Text, "which block (default: the only one of its kind)"),
    ],
};

/// `topologyConstraints`.
pub static TOPOLOGY_CONSTRAINTS: ObjectType = ObjectType {
    name: "topology_constraints",
    title: "`topologyConstraints`",
    keys: &[
        optional("maxDepth", Integer(1, 1_000), "how deep work may be handed down"),
        optional("maxRetries", Integer(0, 1_000), RETRIES),
    ],
};

/// One edge.
pub static EDGE: ObjectType = ObjectType {
    name: "edge",
    title: "an edge",
    keys: &[
        required("from", Text, "the phase that it leads from"),
        required("to", Text, "the phase that it leads to"),
        optional(
            "on",
            Choice(ON_WORDS),
            "how the first must have ended (default success, unless `event` is there)",
        ),
        optional("event", Text, "what it must have announced"),
        optional("when", OneOf(&[WHEN, List(&WHEN)]), "what must hold as well, all of it"),
        optional(
            "maxRounds",
            Integer(2, 100),
            "an edge that leads back: how often its phases run in all, the first time included",
        ),
    ],
};

const WHEN: Shape = OneOf(&[Template, Object(&CONDITION)]);

/// A condition of an edge.
pub static CONDITION: ObjectType = ObjectType {
    name: "route_condition",
    title: "a condition",
    keys: &[
        required("type", Choice(Kind::WORDS), "what is looked at"),
        optional("key", Text, "`state_flag`: the flag"),
        optional("equals", Boolean, "`state_flag`: what it must be"),
        optional("event", Text, "`history_has_event`: what was announced"),
        optional("path", Text, "`file_exists`: the file, below the folder of the run"),
        optional("expr", Template, "`expression`: as `when` of a workflow's routes"),
    ],
};

/// A domain event of the manifest's own.
pub static EVENT: ObjectType = ObjectType {
    name: "domain_event",
    title: "an event",
    keys: &[
        required("type", Text, "its name"),
        optional("description", Text, "what it means"),
        optional(
            "schema",
            OneOf(&[Text, Map(&Any)]),
            "what its payload looks like: a JSON Schema, fields, or `a, b`",
        ),
        optional(
            "anyStatus",
            Boolean,
            "`task_blocked`: a worker may announce it whatever its status is (default false)",
        ),
    ],
};

/// The actor that plays a role.
pub static ACTOR: Extended = Extended {
    own: ObjectType {
        name: "actor",
        title: "an actor",
        keys: &[optional("type", Choice(&["agent", "script"]), "a model, or a program (default agent)")],
    },
    of_steps: &[
        "description",
        "provider",
        "model",
        "models",
        "tools",
        "approve",
        "secrets",
        "command",
        "args",
        "env",
        "working_dir",
        "timeout",
        "max_wait",
        "retry",
        "temperature",
        "max_tokens",
        "reasoning",
        "repair_model",
        "capabilities",
        "context_window",
        "max_agent_iterations",
        "max_session_seconds",
        "timeouts",
        "skills",
        "resources",
        "on_unknown",
        "probe",
        "idempotent",
    ],
};
