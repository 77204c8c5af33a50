//! A node's hash: what changes its result, and nothing else.
//!
//! Texts count, not their numbers in the plan's table; members, bodies and sub-workflows count by their own hashes, so
//! a step that is added elsewhere changes nothing here. Names, places, retries, bounds of time and of conversations,
//! credentials and addresses are left out: none of them changes what a finished task would answer.

use crate::plan::*;
use convoke_model::{Digest, Server, Servers, Transport};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Writes the hash of every node.
pub(super) fn stamp(plan: &mut Plan) {
    let hashes = Hasher::new(plan).all();
    for (workflow, hashes) in plan.workflows.iter_mut().zip(hashes) {
        for (node, hash) in workflow.nodes.iter_mut().zip(hashes) {
            node.hash = hash;
        }
    }
}

struct Hasher<'a> {
    plan: &'a Plan,
    partials: Digest,
    known: HashMap<(WorkflowIx, NodeIx), Digest>,
}

impl<'a> Hasher<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, partials: digest(&json!(plan.partials)), known: HashMap::new() }
    }

    fn all(mut self) -> Vec<Vec<Digest>> {
        (0..self.plan.workflows.len())
            .map(|ix| {
                let ix = WorkflowIx(ix as u32);
                self.nodes(ix)
            })
            .collect()
    }

    fn nodes(&mut self, ix: WorkflowIx) -> Vec<Digest> {
        let count = self.plan.workflow(ix).nodes.len() as u32;
        (0..count).map(|node| self.node(ix, NodeIx(node))).collect()
    }

    fn node(&mut self, ix: WorkflowIx, node: NodeIx) -> Digest {
        if let Some(known) = self.known.get(&(ix, node)) {
            return *known;
        }
        let hash = digest(&self.identity(ix, node));
        self.known.insert((ix, node), hash);
        hash
    }

    fn identity(&mut self, ix: WorkflowIx, node: NodeIx) -> Value {
        let workflow = self.plan.workflow(ix);
        let node = workflow.node(node);
        let mut kind = serde_json::to_value(&node.kind).expect("a kind is data");
        self.follow(ix, node, kind_fields(&mut kind));
        self.spell_out(&mut kind);
        let inputs: Vec<&str> = node.inputs.iter().map(|input| &*input.text).collect();
        let instructions = workflow.instructions.as_deref().filter(|_| matches!(node.kind, Kind::Agent(_)));
        let mut identity = json!({
            "kind": kind, "inputs": inputs, "mode": workflow.context.mode, "instructions": instructions,
        });
        if let Some(proof) = &node.proof {
            identity["ensure"] = self.proven(proof);
        }
        if !node.expects.is_empty() {
            identity["expects"] = self.expectations(ix, node);
        }
        identity
    }

    /// Work that proved something else is not done again for how often it may try; for what it must prove it is.
    fn proven(&self, proof: &Proof) -> Value {
        let mut conditions = json!(proof.conditions);
        self.spell_out(&mut conditions);
        json!([conditions, proof.protect, proof.policies])
    }

    /// What is repaired before a step sees it changes what the step answers.
    fn expectations(&mut self, ix: WorkflowIx, node: &Node) -> Value {
        let workflow = self.plan.workflow(ix);
        let shapes: Vec<Value> =
            node.expects.iter().map(|one| json!([workflow.node(one.node).name, one.schema])).collect();
        let mut prompt = json!({ "prompt": node.repair_prompt });
        self.spell_out(&mut prompt);
        json!([shapes, node.repairer.map(|repairer| self.node(ix, repairer)), prompt])
    }

    /// Replaces indexes by what stands behind them, and drops what does not change a result.
    fn follow(&mut self, ix: WorkflowIx, node: &Node, fields: &mut Map<String, Value>) {
        match &node.kind {
            Kind::Agent(agent) => settle_agent(fields, &agent.settings.servers),
            Kind::Tool(tool) => settle_tool(fields, tool),
            Kind::Gate(_) => drop_routes(fields),
            Kind::Questions(_) => drop(fields.remove("abort_route")),
            Kind::Parallel(group) => {
                let members: Vec<Value> =
                    group.members.iter().map(|member| self.member(ix, *member)).collect();
                fields.insert("members".into(), json!(members));
                fields.remove("max_concurrent");
            }
            Kind::ForEach(group) => {
                let body = self.member(ix, group.body);
                fields.insert("body".into(), body);
                fields.remove("max_concurrent");
                // As text, so that nothing in them is taken for a template's number.
                fields.entry("items").and_modify(|items| *items = json!(items.to_string()));
            }
            Kind::Reduce(reduce) => {
                let sources: Vec<_> =
                    reduce.of.iter().map(|of| self.plan.workflow(ix).node(*of).name.clone()).collect();
                fields.insert("of".into(), json!(sources));
                let merger = reduce.merger.map(|merger| self.node(ix, merger));
                fields.insert("merger".into(), json!(merger));
                if let (Some(rlm), Some(stated)) = (&reduce.rlm, fields.get_mut("rlm")) {
                    stated["reader"] = json!(self.node(ix, rlm.reader));
                    stated["writer"] = json!(self.node(ix, rlm.writer));
                }
            }
            Kind::Verify(verify) => {
                let of = self.plan.workflow(ix).node(verify.of).name.clone();
                fields.insert("of".into(), json!(of));
                let assessor = self.node(ix, verify.assessor);
                fields.insert("assessor".into(), json!(assessor));
                let repairer = self.node(ix, verify.repairer);
                fields.insert("repairer".into(), json!(repairer));
            }
            Kind::SubPlan(call) => {
                let workflow = self.workflow(call.workflow);
                fields.insert("workflow".into(), json!(workflow));
            }
            Kind::Goal(goal) => {
                let roles: Vec<_> =
                    goal.roles.iter().map(|(role, node)| json!([role, self.node(ix, *node)])).collect();
                fields.insert("roles".into(), json!(roles));
                // Removing one by one would change the order of the rest, and with it the hash.
                fields.retain(|key, _| key != "item" && !GOAL_LIMITS.contains(&key.as_str()));
            }
            Kind::Item(_) => drop(fields.remove("goal")),
            Kind::Phase(phase) => {
                let worker = self.node(ix, phase.worker);
                fields.insert("worker".into(), json!(worker));
                let children: Vec<_> = phase
                    .children
                    .iter()
                    .map(|child| json!([child.persona, self.node(ix, child.worker), child.clearance]))
                    .collect();
                fields.insert("children".into(), json!(children));
                fields.retain(|key, _| !PHASE_LIMITS.contains(&key.as_str()));
            }
            // An output that came is as good under another bound.
            Kind::Script(_) => fields.retain(|key, _| key != "idle"),
            Kind::Set(_) | Kind::Wait(_) | Kind::Terminate(_) => {}
        }
    }

    /// Members are told apart by name in their group's output.
    fn member(&mut self, ix: WorkflowIx, node: NodeIx) -> Value {
        json!([self.plan.workflow(ix).node(node).name, self.node(ix, node)])
    }

    /// A whole workflow: its nodes, how they hang together, what it takes and gives.
    fn workflow(&mut self, ix: WorkflowIx) -> Digest {
        let nodes = self.nodes(ix);
        let workflow = self.plan.workflow(ix);
        let edges: Vec<Value> = workflow
            .nodes
            .iter()
            .map(|node| json!([node.name, node.needs, node.join, node.triggers, node.routes, node.on_error]))
            .collect();
        let mut whole = json!({
            "nodes": nodes, "edges": edges, "entry": workflow.entry, "inputs": workflow.inputs, "output": workflow.output,
        });
        self.spell_out(&mut whole);
        digest(&whole)
    }

    /// Replaces template and condition numbers by their texts.
    fn spell_out(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.spell_out(item)),
            Value::Object(fields) => {
                if let (1, Some(id)) = (fields.len(), fields.get("template").and_then(Value::as_u64)) {
                    *value = self.template(id as usize);
                    return;
                }
                if let Some(id) = fields.get("when").and_then(Value::as_u64) {
                    fields.insert("when".into(), json!(self.plan.conditions[id as usize]));
                }
                fields.values_mut().for_each(|field| self.spell_out(field));
            }
            _ => {}
        }
    }

    fn template(&self, id: usize) -> Value {
        let template = &self.plan.templates[id];
        match template.base {
            Some(_) => json!([template, self.partials]),
            None => json!(template),
        }
    }
}

/// The inside of `{"agent": {…}}`; kinds whose inside is no map have nothing to replace.
fn kind_fields(kind: &mut Value) -> &mut Map<String, Value> {
    let inside = kind.as_object_mut().and_then(|kind| kind.values_mut().next());
    inside.and_then(Value::as_object_mut).expect("every kind is written as a map in a map")
}

/// What bounds an agent, what a person is asked about, and what helps it to answer at all: an answer that came is as good under
/// other bounds.
const LIMITS: [&str; 9] = [
    "approvals",
    "request_timeout",
    "phase_timeouts",
    "session_timeout",
    "pricing",
    "parse_recovery",
    "fallback",
    "capabilities",
    "repair_model",
];

/// How far a goal may go, what follows from failures and whether a person looks at its plan: what it came to is as good under others.
const GOAL_LIMITS: [&str; 3] = ["bounds", "policies", "approve"];

/// How far a phase may go, of which the process that compiles it has a say: what it came to is as good under other bounds.
const PHASE_LIMITS: [&str; 2] = ["max_tries", "max_depth"];

fn settle_agent(fields: &mut Map<String, Value>, servers: &Servers) {
    let Some(settings) = fields.get_mut("settings").and_then(Value::as_object_mut) else { return };
    // Removing one by one would change the order of the rest, and with it the hash.
    settings.retain(|key, _| !LIMITS.contains(&key.as_str()));
    if !servers.is_empty() {
        let servers: Vec<Value> = servers.iter().map(|(name, server)| json!([name, which(server)])).collect();
        settings.insert("servers".into(), json!(servers));
    }
    if let Some(provider) = settings.get_mut("provider").and_then(Value::as_object_mut) {
        provider.retain(|key, _| key == "name" || key == "program");
        if let Some(program) = provider.get_mut("program").and_then(Value::as_object_mut) {
            program.retain(|key, _| key == "command" || key == "args");
        }
    }
}

fn settle_tool(fields: &mut Map<String, Value>, tool: &Tool) {
    fields.insert("servers".into(), json!(tool.servers.get(&tool.server).map(which)));
    let arguments: Vec<Value> =
        tool.arguments.iter().map(|(name, argument)| json!([name, spelled(argument)])).collect();
    fields.insert("arguments".into(), json!(arguments));
}

/// Which server it is and what it may do, without credentials, addresses and limits.
fn which(server: &Server) -> Value {
    match &server.transport {
        Transport::Stdio { command, args, .. } => json!([command, args, server.tools]),
        Transport::Http { .. } => json!([server.tools]),
        Transport::Scripts { scripts, .. } => json!([scripts, server.tools]),
        Transport::Own { policies, .. } => json!([policies, server.tools]),
    }
}

/// Values as text, so that nothing in them is taken for a template's number.
fn spelled(argument: &Argument) -> Value {
    match argument {
        Argument::Value(value) => json!(value.to_string()),
        Argument::Template(id) => json!({ "template": id }),
        Argument::List(items) => json!(items.iter().map(spelled).collect::<Vec<_>>()),
        Argument::Map(entries) => {
            json!(entries.iter().map(|(name, value)| json!([name, spelled(value)])).collect::<Vec<_>>())
        }
    }
}

fn drop_routes(fields: &mut Map<String, Value>) {
    let Some(options) = fields.get_mut("options").and_then(Value::as_array_mut) else { return };
    for option in options.iter_mut() {
        option.as_object_mut().map(|option| option.remove("route"));
    }
}

fn digest(value: &Value) -> Digest {
    Digest::of(&serde_json::to_vec(value).expect("values are JSON"))
}
