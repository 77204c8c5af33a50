//! Persona manifests: what they become, and what is wrong with them.

mod world;

use convoke_plan::compile::{Caps, Options};
use convoke_plan::{
    Condition, Kind, Node, NodeIx, On, Phase, Plan, ProjectPlace, Requires, Text, Topology, Workflow,
};
use world::{World, compiled, findings, shown};

const TWO: &str = r#"
schemaVersion: "1"
topologies: [sequential]
personas:
  - id: writer
    displayName: The writer
    systemPromptTemplate: "  You write about {{ workflow.input.topic }}.  "
    modelConstraint: big
    toolClearance: {allowlist: [read, Write], banlist: [write]}
  - {id: copier, displayName: The copier, systemPromptTemplate: You copy.}
relationships: []
pipeline:
  entryNodeId: write
  nodes:
    - {id: write, actorId: a, personaId: writer, constraints: {maxRetries: 1}, task: Write it.}
    - {id: copy, actorId: b, personaId: copier}
  edges:
    - {from: write, to: copy}
topologyConstraints: {maxDepth: 2, maxRetries: 5}
"#;

fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let shown = shown(&result);
    result.plan.unwrap_or_else(|| panic!("{shown}"))
}

fn node<'p>(workflow: &'p Workflow, name: &str) -> &'p Node {
    workflow.nodes.iter().find(|node| &*node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

fn phase<'p>(workflow: &'p Workflow, name: &str) -> &'p Phase {
    match &node(workflow, name).kind {
        Kind::Phase(phase) => phase,
        other => panic!("{name} is {}", other.word()),
    }
}

fn text<'p>(plan: &'p Plan, text: &'p Text) -> &'p str {
    match text {
        Text::Literal(text) => text,
        Text::Template(id) => &plan.templates[id.0 as usize].text,
    }
}

#[test]
fn a_manifest_becomes_phases_that_need_one_another() {
    let plan = plan(TWO);
    let workflow = plan.root();
    let (write, copy) = (node(workflow, "write"), node(workflow, "copy"));
    assert_eq!(workflow.entry, [NodeIx(0)]);
    assert!(write.triggers.is_empty() && write.needs.is_empty());
    assert_eq!(copy.needs.len(), 1);
    assert_eq!((copy.needs[0].node, copy.needs[0].requires), (NodeIx(0), Requires::Any));
    assert_eq!((copy.triggers[0].from, copy.triggers[0].on), (NodeIx(0), Some(On::Success)));
    assert_eq!(phase(workflow, "write").max_tries, 2);
    assert_eq!(phase(workflow, "copy").max_tries, 3, "the process allows two further tries");
    assert_eq!(phase(workflow, "write").max_depth, 2);
    let pipeline = workflow.pipeline.as_ref().expect("it is a pipeline");
    assert_eq!((pipeline.hard_failures, &pipeline.project), (3, &ProjectPlace::Usual));
}

#[test]
fn a_worker_is_the_persona_with_its_contract() {
    let plan = plan(TWO);
    let worker = plan.root().node(phase(plan.root(), "write").worker);
    assert_eq!(&*worker.name, "$write.try");
    let Kind::Agent(agent) = &worker.kind else { panic!("a model") };
    assert_eq!(text(&plan, agent.system.as_ref().unwrap()), "You write about {{ workflow.input.topic }}.");
    assert!(text(&plan, &agent.prompt).starts_with("Write it."));
    assert_eq!(text(&plan, agent.model.as_ref().unwrap()), "big");
    let fields: Vec<_> = agent.settings.schema.as_ref().unwrap().fields.keys().map(String::as_str).collect();
    assert_eq!(fields[..2], ["status", "payload"]);
    assert_eq!(agent.settings.tools.as_deref(), Some(&["read".to_owned()][..]), "a ban wins, in any case");
}

const HEAD: &str = r#"schemaVersion: "1"
personas:
  - {id: lead, systemPromptTemplate: You lead.}
  - {id: coder, systemPromptTemplate: You code.}
  - {id: tester, systemPromptTemplate: You test.}
"#;

/// A pipeline of these nodes (`id` alone, or an inline mapping without its actor and persona) and edges.
fn piped(more: &str, nodes: &[&str], edges: &[&str]) -> String {
    let node = |text: &&str| match text.split_once(' ') {
        Some((id, rest)) => format!("    - {{id: {id}, actorId: m, personaId: lead, {rest}}}\n"),
        None => format!("    - {{id: {text}, actorId: m, personaId: lead}}\n"),
    };
    let nodes: String = nodes.iter().map(node).collect();
    let edges: String = edges.iter().map(|text| format!("    - {{{text}}}\n")).collect();
    format!("{HEAD}{more}pipeline:\n  entryNodeId: a\n  nodes:\n{nodes}  edges:\n{edges}    []\n")
        .replace("  edges:\n    []\n", "  edges: []\n")
        .replace("\n    []\n", "\n")
}

/// The findings must be exactly these, each by code and a word of its message or advice.
fn refused(text: &str, expected: &[(&str, &str)]) {
    let result = compiled(text);
    let all = shown(&result);
    assert!(result.plan.is_none(), "not refused: {all}\n{text}");
    assert_found(&result, expected, &all);
}

/// The same for warnings.
fn warned(text: &str, expected: &[(&str, &str)]) -> Plan {
    let result = compiled(text);
    let all = shown(&result);
    assert_found(&result, expected, &all);
    result.plan.unwrap_or_else(|| panic!("refused: {all}"))
}

fn assert_found(result: &convoke_plan::compile::Compiled, expected: &[(&str, &str)], all: &str) {
    let found = &result.diagnostics;
    assert_eq!(found.len(), expected.len(), "{all}");
    for (found, (code, word)) in found.iter().zip(expected) {
        let said = format!("{} {}", found.message, found.help.as_deref().unwrap_or(""));
        assert!(found.code == *code && said.contains(word), "expected {code} `{word}`: {all}");
    }
}

#[test]
fn relationships_in_a_circle_are_refused_and_the_circle_is_shown() {
    let circle = "relationships:\n  - {parentPersonaId: lead, childPersonaId: coder}\n  \
                  - {parentPersonaId: coder, childPersonaId: tester}\n  - {parentPersonaId: tester, childPersonaId: coder}\n";
    let text = piped(circle, &["a"], &[]);
    refused(&text, &[("workflow::relationship_cycle", "coder → tester → coder")]);
    let own = "relationships: [{parentPersonaId: lead, childPersonaId: lead}]\n";
    refused(&piped(own, &["a"], &[]), &[("workflow::relationship_cycle", "lead → lead")]);
}

#[test]
fn nodes_in_a_circle_are_refused_and_the_circle_is_shown() {
    let text = piped("", &["a", "b", "c"], &["from: a, to: b", "from: b, to: c", "from: c, to: b"]);
    refused(&text, &[("workflow::pipeline_cycle", "b → c → b")]);
    assert_eq!(findings(&compiled(&text))[0].1, 15, "at the edge that closes it");
    refused(&piped("", &["a"], &["from: a, to: a"]), &[("workflow::pipeline_cycle", "a → a")]);
}

#[test]
fn a_circle_that_nothing_leads_to_is_one_all_the_same() {
    let text = piped("", &["a", "b", "c"], &["from: c, to: b", "from: b, to: c"]);
    refused(
        &text,
        &[
            ("workflow::unreachable", "`b`"),
            ("workflow::unreachable", "`c`"),
            ("workflow::pipeline_cycle", "b → c → b"),
        ],
    );
}

#[test]
fn names_that_lead_nowhere_are_named_with_the_nearest() {
    let persona = piped("", &["a"], &[]).replace("personaId: lead", "personaId: laed");
    refused(&persona, &[("workflow::unknown_persona", "did you mean `lead`?")]);
    let relationship = "relationships: [{parentPersonaId: lead, childPersonaId: codr}]\n";
    refused(&piped(relationship, &["a"], &[]), &[("workflow::unknown_persona", "did you mean `coder`?")]);
    refused(
        &piped("", &["a"], &["from: a, to: zz", "from: yy, to: a"]),
        &[("workflow::unknown_node", "`zz`"), ("workflow::unknown_node", "`yy`")],
    );
    let entry = piped("", &["a"], &[]).replace("entryNodeId: a", "entryNodeId: aa");
    refused(&entry, &[("workflow::unknown_node", "`entryNodeId`")]);
    let event = piped("", &["a", "b"], &["from: a, to: b, event: task_planned"]);
    refused(&event, &[("workflow::unknown_event", "did you mean `tasks_planned`?")]);
    let history = "from: a, to: b, when: {type: history_has_event, event: nonsense}";
    refused(&piped("", &["a", "b"], &[history]), &[("workflow::unknown_event", "`nonsense`")]);
}

#[test]
fn events_of_the_manifest_are_known() {
    let more = "events:\n  - deployed\n  - {type: billed, schema: {amount: {type: number}}}\n";
    let edges = ["from: a, to: b, event: billed", "from: a, to: c, event: deployed"];
    let plan = plan(&piped(more, &["a", "b", "c"], &edges));
    let pipeline = plan.root().pipeline.as_ref().unwrap();
    assert!(pipeline.knows("billed") && pipeline.knows("deployed") && pipeline.knows("branch_merged"));
    assert!(!pipeline.knows("nonsense"));
    assert!(pipeline.shape("billed").unwrap().fields.contains_key("amount"));
    assert_eq!((node(plan.root(), "b").triggers[0].on, pipeline.shape("deployed")), (None, None));
}

#[test]
fn a_name_may_stand_once() {
    let twice = piped("", &["a", "a"], &[]);
    refused(&twice, &[("workflow::duplicate", "two nodes are called `a`")]);
    let persona = piped("", &["a"], &[])
        .replace("personas:\n", "personas:\n  - {id: lead, systemPromptTemplate: Another.}\n");
    refused(&persona, &[("workflow::duplicate", "two personas are called `lead`")]);
    refused(&piped("events: [x, x]\n", &["a"], &[]), &[("workflow::duplicate", "two events")]);
    let pair = "relationships: [{parentPersonaId: lead, childPersonaId: coder}, \
                {parentPersonaId: lead, childPersonaId: coder}]\n";
    refused(&piped(pair, &["a"], &[]), &[("workflow::duplicate", "`lead` to `coder`")]);
}

#[test]
fn what_must_be_there_is_missed() {
    let without = |key: &str| {
        let text = piped("", &["a"], &[]);
        text.lines()
            .filter(|line| !line.trim_start().starts_with(key))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    refused(&without("schemaVersion"), &[("workflow::missing_key", "`schemaVersion`")]);
    refused(&without("entryNodeId"), &[("workflow::missing_key", "`entryNodeId`")]);
    refused(
        "schemaVersion: \"1\"\npersonas: []\n",
        &[("workflow::missing_key", "`pipeline`"), ("workflow::empty_value", "`personas`")],
    );
    let nodes =
        piped("", &["a"], &[]).replace("nodes:\n    - {id: a, actorId: m, personaId: lead}", "nodes: []");
    refused(&nodes, &[("workflow::unknown_node", "`a`"), ("workflow::empty_value", "`nodes`")]);
    let prompt = piped("", &["a"], &[]).replace("You lead.", "'  '");
    refused(&prompt, &[("workflow::empty_value", "`systemPromptTemplate` of persona `lead`")]);
    let model = piped("", &["a"], &[]).replace("You lead.", "x, modelConstraint: ''");
    refused(&model, &[("workflow::empty_value", "`modelConstraint`")]);
    let version = piped("", &["a"], &[]).replace("\"1\"", "\"2\"");
    refused(&version, &[("workflow::unknown_value", "`schemaVersion`")]);
}

#[test]
fn unknown_keys_and_wrong_values_are_found_at_their_places() {
    refused(&piped("", &["a personId: x"], &[]), &[("workflow::unknown_key", "did you mean `personaId`?")]);
    refused(
        &piped("relationship: []\n", &["a"], &[]),
        &[("workflow::unknown_key", "did you mean `relationships`?")],
    );
    refused(&piped("", &["a", "b"], &["from: a, to: b, if: x"]), &[("workflow::unknown_key", "`if`")]);
    refused(
        &piped("", &["a", "b"], &["from: a, to: b, on: sucess"]),
        &[("workflow::unknown_value", "`success`")],
    );
    refused(
        &piped("", &["a constraints: {maxRetries: -1}"], &[]),
        &[("workflow::out_of_range", "`maxRetries`")],
    );
    refused(
        &piped("topologyConstraints: {maxDepth: 0}\n", &["a"], &[]),
        &[("workflow::out_of_range", "`maxDepth`")],
    );
    let bounds = "relationships: [{parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 0, maxChildren: 0}}]\n";
    refused(
        &piped(bounds, &["a"], &[]),
        &[("workflow::out_of_range", "`maxDepth`"), ("workflow::out_of_range", "`maxChildren`")],
    );
    refused(
        &piped("", &["a topology: {kind: paralel}"], &[]),
        &[("workflow::unknown_value", "did you mean `parallel`?")],
    );
    refused(&piped("project: 3\n", &["a"], &[]), &[("workflow::wrong_type", "`project`")]);
}

#[test]
fn a_flag_is_compared_with_true_or_false_and_nothing_else() {
    for wrong in ["\"true\"", "1", "yes please", "[true]"] {
        let edge = format!("from: a, to: b, when: {{type: state_flag, key: x, equals: {wrong}}}");
        refused(&piped("", &["a", "b"], &[&edge]), &[("workflow::wrong_type", "`equals`")]);
    }
    let missing = "from: a, to: b, when: {type: state_flag, key: x}";
    refused(&piped("", &["a", "b"], &[missing]), &[("workflow::missing_key", "`equals`")]);
    let misplaced = "from: a, to: b, when: {type: always, key: x}";
    refused(&piped("", &["a", "b"], &[misplaced]), &[("workflow::needs_key", "`key`")]);
}

#[test]
fn a_file_is_looked_for_below_the_folder_of_the_run_only() {
    for outside in ["/etc/passwd", "../x", "a/../../x", "'C:\\x'", "'..\\x'", "'~/x'"] {
        let edge = format!("from: a, to: b, when: {{type: file_exists, path: {outside}}}");
        let text = piped("", &["a", "b"], &[&edge]);
        refused(&text, &[("workflow::bad_path", "the folder of the run")]);
        assert_eq!(findings(&compiled(&text))[0].1, 12, "at the path");
    }
    plan(&piped("", &["a", "b"], &["from: a, to: b, when: {type: file_exists, path: ./x/..y/z.md}"]));
}

#[test]
fn conditions_that_contradict_each_other_are_refused() {
    let edge = "from: a, to: b, when: [{type: state_flag, key: x, equals: true}, {type: state_flag, key: x, equals: false}]";
    refused(&piped("", &["a", "b"], &[edge]), &[("workflow::never_holds", "`x`")]);
    let other = edge.replace("key: x, equals: false", "key: y, equals: false");
    plan(&piped("", &["a", "b"], &[&other]));
}

#[test]
fn edges_that_are_probably_never_taken_are_warned_of() {
    let never = |edge: &str| warned(&piped("", &["a", "b"], &[edge]), &[("workflow::never_holds", "")]);
    never("from: a, to: b, when: 1 > 2");
    never("from: a, to: b, when: {type: expression, expr: 'false'}");
    never("from: a, to: b, on: failure, event: validation_passed");
    never("from: a, to: b, on: success, event: task_blocked");
    plan(&piped("", &["a", "b"], &["from: a, to: b, on: success, event: validation_failed"]));
    plan(&piped("", &["a", "b"], &["from: a, to: b, on: success, event: validation_passed, when: 2 > 1"]));
}

#[test]
fn every_condition_reaches_the_plan() {
    let edges = [
        "from: a, to: b, on: onValidationFail, when: {type: file_exists, path: out.md}",
        "from: a, to: c, on: always, when: [{type: always}, \"state.flags.ready and 'tasks_planned' in events\"]",
        "from: b, to: c, event: tasks_planned, on: onTaskComplete, when: {type: expression, expr: a.output.payload.n > 2}",
    ];
    let plan = plan(&piped("", &["a", "b", "c"], &edges));
    let (b, c) = (node(plan.root(), "b"), node(plan.root(), "c"));
    assert_eq!(b.triggers[0].on, Some(On::ValidationFail));
    assert_eq!(b.triggers[0].when, [Condition::FileExists { path: "out.md".into() }]);
    assert_eq!((c.triggers[0].on, &c.triggers[0].when[0]), (Some(On::Always), &Condition::Always));
    let Condition::Expression { when } = &c.triggers[1].when[0] else { panic!("an expression") };
    assert_eq!(&*plan.conditions[when.0 as usize].text, "a.output.payload.n > 2");
    assert_eq!(
        (c.triggers[1].on, c.triggers[1].event.as_deref()),
        (Some(On::Success), Some("tasks_planned"))
    );
    assert_eq!(c.needs.len(), 2);
}

#[test]
fn texts_of_a_pipeline_see_its_state_and_nothing_else() {
    let prompt = "'{{ handoff.from }} {{ state.flags }} {{ project }} {{ attempt }} {{ previous }} {{ children }} {{ phase.id }}'";
    plan(&piped("", &["a"], &[]).replace("You lead.", prompt));
    let unknown = piped("", &["a"], &[]).replace("You lead.", "'{{ conversation }}'");
    refused(&unknown, &[("workflow::unknown_reference", "`conversation`")]);
    let later =
        piped("", &["a", "b"], &["from: a, to: b"]).replace("id: a,", "id: a, task: '{{ b.output }}',");
    refused(&later, &[("workflow::never_before", "`b`")]);
    let syntax = piped("", &["a", "b"], &["from: a, to: b, when: 'x =='"]);
    refused(&syntax, &[("workflow::condition_syntax", "cannot be read")]);
}

#[test]
fn conditions_name_only_what_can_be_there() {
    let edge = |when: &str| piped("", &["a", "b"], &[&format!("from: a, to: b, when: \"{when}\"")]);
    let wrong = [
        ("stat.flags.f", "did you mean `state`?"),
        ("zzz.output.payload.y > 1", "the edge from `a` to `b`: when refers to `zzz`"),
        ("state.flag.f", "did you mean `flags`?"),
        ("output.payloud.x == 1", "did you mean `payload`?"),
        ("attempt > 1", "`attempt`"),
        ("nothing", "`nothing`"),
    ];
    for (when, words) in wrong {
        let text = edge(when);
        refused(&text, &[("workflow::unknown_reference", words)]);
        assert_eq!(findings(&compiled(&text))[0].1, 12, "at the condition");
    }
    for right in [
        "state.flags.f",
        "not state.flags['f']",
        "a.output.payload.x > 1",
        "status == 'success'",
        "payload.n > 1",
        "'tasks_planned' in events",
        "project.globalFlags.x",
        "workflow.input.n > 2",
        "zzz is defined and zzz.y",
    ] {
        plan(&edge(right));
    }
    let task = piped("", &["a task: '{{ zzz }}'"], &[]);
    refused(&task, &[("workflow::unknown_reference", "node `a`: task refers to `zzz`")]);
}

#[test]
fn a_condition_that_cannot_be_read_is_told_with_everything_else() {
    let edges = ["from: a, to: b, when: 'x =='", "from: b, to: a"];
    refused(
        &piped("", &["a", "b"], &edges),
        &[("workflow::condition_syntax", "the edge from `a` to `b`"), ("workflow::pipeline_cycle", "a → b")],
    );
}

#[test]
fn standard_events_keep_their_shape() {
    let shaped = "events: [{type: validation_passed, schema: {n: {type: number}}}]\n";
    refused(&piped(shaped, &["a"], &[]), &[("workflow::excludes", "`validation_passed`")]);
    warned(&piped("events: [branch_merged]\n", &["a"], &[]), &[("workflow::no_effect", "`branch_merged`")]);
}

#[test]
fn what_is_not_reached_is_left_out_with_a_warning() {
    let text = piped("", &["a", "b", "lost"], &["from: a, to: b", "from: lost, to: b"]);
    let plan = warned(&text, &[("workflow::unreachable", "`lost`")]);
    let b = node(plan.root(), "b");
    assert_eq!((b.needs.len(), b.triggers.len()), (1, 1), "what never runs holds nobody up");
    assert!(!plan.root().nodes.iter().any(|node| &*node.name == "lost"));
}

#[test]
fn a_tool_in_both_lists_is_banned() {
    let both = "x, toolClearance: {allowlist: [read, write], banlist: [WRITE]}";
    let text = piped("mcp_servers: {files: {command: files}}\n", &["a"], &[]).replacen("You lead.", both, 1);
    let plan = warned(&text, &[("workflow::no_effect", "`write`")]);
    let clearance = &phase(plan.root(), "a").clearance;
    assert_eq!(
        (clearance.allow.as_ref().unwrap().len(), clearance.ban.as_slice()),
        (2, &["WRITE".to_owned()][..])
    );
    let Kind::Agent(agent) = &plan.root().node(phase(plan.root(), "a").worker).kind else {
        panic!("a model")
    };
    assert_eq!(agent.settings.tools.as_deref(), Some(&["read".to_owned()][..]));
}

#[test]
fn slips_that_still_run_are_warned_of() {
    let actors = "actors: {model_b: {type: agent}}\n";
    warned(
        &piped(actors, &["a"], &[]).replace("actorId: m", "actorId: model_c"),
        &[("workflow::no_effect", "`model_b`")],
    );
    let kinds = piped("topologies: [parallel]\n", &["a topology: {kind: sequential, blockId: x}"], &[]);
    warned(&kinds, &[("workflow::no_effect", "`sequential`")]);
    let name = piped("", &["a", "state"], &["from: a, to: state"]);
    warned(&name, &[("workflow::reserved_name", "`state`")]);
}

#[test]
fn actors_are_models_or_programs() {
    let actors =
        "actors:\n  m: {type: script, command: ./work.sh, args: [-x], timeout: 5s, idempotent: true}\n";
    let plan = plan(&piped(actors, &["a task: Do it."], &[]));
    let worker = plan.root().node(phase(plan.root(), "a").worker);
    let Kind::Script(script) = &worker.kind else { panic!("a program") };
    assert!(script.schema.is_some() && script.stdin.is_some());
    assert!(text(&plan, script.stdin.as_ref().unwrap()).contains("Do it."));
    assert_eq!(worker.timeout, Some(convoke_plan::Span::Millis(5_000)));
    assert_eq!(worker.on_unknown, convoke_plan::OnUnknown::Retry);
    let missing = "actors: {m: {type: script}}\n";
    refused(&piped(missing, &["a"], &[]), &[("workflow::missing_key", "`command`")]);
    let mixed = "actors: {m: {type: script, command: x, temperature: 1}}\n";
    refused(&piped(mixed, &["a"], &[]), &[("workflow::not_allowed_here", "`temperature`")]);
    let agent = "actors: {m: {command: x}}\n";
    refused(&piped(agent, &["a"], &[]), &[("workflow::not_allowed_here", "`command`")]);
}

#[test]
fn members_of_a_sequential_block_follow_one_another_in_an_order_that_the_edges_allow() {
    let block = "topology: {kind: sequential, blockId: x}";
    let nodes = [&format!("c {block}"), &format!("b {block}"), "a", &format!("d {block}")]
        .map(|text| text.to_string());
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let edges = ["from: a, to: b", "from: a, to: c", "from: a, to: d", "from: d, to: c"];
    let plan = plan(&piped("", &nodes, &edges));
    let orders = |name: &str| {
        let node = node(plan.root(), name);
        let names =
            node.needs.iter().filter(|need| need.order).map(|need| &*plan.root().node(need.node).name);
        names.collect::<Vec<_>>()
    };
    assert_eq!((orders("b"), orders("d"), orders("c")), (vec![], vec!["b"], vec![]), "c waits for d anyway");
    assert_eq!(phase(plan.root(), "b").block.as_ref().unwrap().kind, Topology::Sequential);
}

#[test]
fn work_goes_down_the_relationships() {
    let more = "relationships:\n  - {parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 9, maxChildren: 2}}\n  \
                - {parentPersonaId: coder, childPersonaId: tester, constraints: {maxDepth: 2}}\n  \
                - {parentPersonaId: lead, childPersonaId: tester}\n";
    let plan = plan(&piped(more, &["a"], &[]));
    let phase = phase(plan.root(), "a");
    assert_eq!((phase.direct.as_slice(), phase.max_depth), (&[0, 1][..], 3));
    let roles: Vec<_> = phase
        .children
        .iter()
        .map(|role| (&*role.persona, role.max_depth, role.max_children, role.children.clone()))
        .collect();
    assert_eq!(roles, [("coder", 3, 2, vec![2]), ("tester", 3, 4, vec![]), ("tester", 2, 4, vec![])]);
    assert_eq!(phase.children[1].worker, phase.children[2].worker);
    assert_eq!(&*plan.root().node(phase.children[0].worker).name, "$a.child_coder");
}

#[test]
fn the_least_bound_wins() {
    let text = piped(
        "topologyConstraints: {maxDepth: 9, maxRetries: 9}\n",
        &["a constraints: {maxRetries: 7}", "b"],
        &["from: a, to: b"],
    );
    let tries = |retries: u32, name: &str| {
        let caps = Caps { topology_retries: retries, concurrent: Some(2), ..Caps::default() };
        let options = Options { caps, ..Options::default() };
        let plan = World::default().file("main.yaml", &text).compile_with(&options).plan.unwrap();
        assert_eq!(plan.root().limits.max_concurrency, Some(2));
        phase(plan.root(), name).max_tries
    };
    assert_eq!((tries(5, "a"), tries(8, "a"), tries(20, "a")), (6, 8, 8));
    assert_eq!((tries(20, "b"), tries(0, "b")), (10, 1));
}

#[test]
fn a_plan_under_the_bounds_of_another_process_is_the_one_compiled_there() {
    let text = piped(
        "topologyConstraints: {maxDepth: 9, maxRetries: 9}\nrelationships: [{parentPersonaId: lead, childPersonaId: coder, constraints: {maxDepth: 5, maxChildren: 6}}]\n",
        &["a constraints: {maxRetries: 7}", "b"],
        &["from: a, to: b"],
    );
    let compiled = |caps: Caps| {
        let options = Options { caps, ..Options::default() };
        World::default().file("main.yaml", &text).compile_with(&options).plan.unwrap()
    };
    let violation = Some(convoke_model::Violation::HardAbort);
    let wide = Caps {
        recursive_depth: 8,
        topology_depth: 8,
        topology_retries: 8,
        relationship_children: 8,
        concurrent: Some(8),
        violation: Some(convoke_model::Violation::ValidationFail),
    };
    let tight = Caps {
        recursive_depth: 2,
        topology_depth: 3,
        topology_retries: 1,
        relationship_children: 2,
        concurrent: Some(3),
        violation,
    };
    let bounds = |plan: &Plan| {
        let (root, a) = (plan.root(), phase(plan.root(), "a"));
        let role = (a.children[0].max_depth, a.children[0].max_children);
        let violation = root.pipeline.as_ref().unwrap().violation;
        (a.max_tries, a.max_depth, role, root.limits.max_concurrency, violation)
    };
    let (mut resumed, there) = (compiled(wide), compiled(tight));
    let hashes = |plan: &Plan| plan.root().nodes.iter().map(|node| node.hash).collect::<Vec<_>>();
    assert_eq!(hashes(&resumed), hashes(&there), "what was done is as good under other bounds");
    assert_ne!(bounds(&resumed), bounds(&there));
    resumed.bound_by(&tight);
    assert_eq!(bounds(&resumed), bounds(&there));
    resumed.bound_by(&wide);
    assert_eq!(bounds(&resumed), bounds(&there), "what was bound once is not loosened");
}

#[test]
fn json_is_as_good_as_yaml() {
    let (yaml, json) = (plan(TWO), {
        let value: serde_json::Value = serde_json::json!({
            "schemaVersion": "1", "topologies": ["sequential"],
            "personas": [
                {"id": "writer", "displayName": "The writer", "systemPromptTemplate": "  You write about {{ workflow.input.topic }}.  ",
                 "modelConstraint": "big", "toolClearance": {"allowlist": ["read", "Write"], "banlist": ["write"]}},
                {"id": "copier", "displayName": "The copier", "systemPromptTemplate": "You copy."}],
            "relationships": [],
            "pipeline": {"entryNodeId": "write", "nodes": [
                {"id": "write", "actorId": "a", "personaId": "writer", "constraints": {"maxRetries": 1}, "task": "Write it."},
                {"id": "copy", "actorId": "b", "personaId": "copier"}],
                "edges": [{"from": "write", "to": "copy"}]},
            "topologyConstraints": {"maxDepth": 2, "maxRetries": 5},
        });
        plan(&value.to_string())
    });
    let hashes =
        |plan: &Plan| plan.root().nodes.iter().map(|node| (node.name.clone(), node.hash)).collect::<Vec<_>>();
    assert_eq!(hashes(&yaml), hashes(&json));
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_persona_manifests() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/personas.schema.json");
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let anew = "write it anew: convoke schema personas > docs/personas.schema.json";
    assert_eq!(written, convoke_plan::source::persona_schema(), "{anew}");
}

fn written(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_shapes_of_standard_events_stand_beside_the_documents() {
    let anew = serde_json::to_string_pretty(&convoke_plan::domain_event_schema()).unwrap() + "\n";
    let path = written("domain-events.schema.json");
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &anew).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), anew, "CONVOKE_BLESS=1 writes it anew");
}

fn agent<'p>(plan: &'p Plan, name: &str) -> &'p convoke_plan::Agent {
    match &node(plan.root(), name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}

#[test]
fn what_runs_share_is_spoken_of_only_where_it_can_be_changed() {
    let handed = "relationships: [{parentPersonaId: lead, childPersonaId: coder}]\n";
    let asks = |plan: &Plan, name: &str| {
        let agent = agent(plan, name);
        let field = agent.settings.schema.as_ref().unwrap().fields.contains_key("project");
        (text(plan, &agent.prompt).contains("`project` changes"), field)
    };
    let shares = plan(&piped(handed, &["a"], &[]));
    assert_eq!((asks(&shares, "$a.try"), asks(&shares, "$a.child_coder")), ((true, true), (false, false)));
    let alone = plan(&piped(&format!("{handed}project: false\n"), &["a"], &[]));
    assert_eq!((asks(&alone, "$a.try"), asks(&alone, "$a.child_coder")), ((false, false), (false, false)));
}

#[test]
fn no_other_model_repairs_what_only_one_may_answer() {
    let actors = "actors: {m: {type: agent, model: small, repair_model: cheap}}\n";
    let repairs = |text: &str| agent(&plan(text), "$a.try").settings.repair_model.clone();
    let free = piped(actors, &["a"], &[]);
    assert_eq!(repairs(&free).as_deref(), Some("cheap"));
    let bound = "You lead., modelConstraint: big";
    assert_eq!(repairs(&free.replacen("You lead.", bound, 1)), None);
    let runtime = piped("runtime: {repair_model: cheap}\n", &["a"], &[]).replacen("You lead.", bound, 1);
    assert_eq!(repairs(&runtime), None);
}

#[test]
fn a_service_that_is_probably_misspelt_is_warned_of() {
    let constrained = |model: &str| {
        piped("", &["a"], &[]).replacen("You lead.", &format!("You lead., modelConstraint: '{model}'"), 1)
    };
    warned(&constrained("openia:gpt-5"), &[("workflow::unknown_provider", "did you mean `openai:gpt-5`?")]);
    refused(&constrained("openai:"), &[("workflow::empty_value", "names the service `openai` and no model")]);
    for model in ["openai:gpt-5", "llama3:8b", "llama:8b", "llama:latest", "big"] {
        warned(&constrained(model), &[]);
    }
}

#[test]
fn tries_that_the_process_does_not_grant_are_warned_of_where_they_are_asked_for() {
    let cut = [("workflow::no_effect", "`maxRetries` is 5, and the process allows 2")];
    warned(&piped("", &["a constraints: {maxRetries: 5}"], &[]), &cut);
    let all = "topologyConstraints: {maxDepth: 2, maxRetries: 5}\n";
    warned(&piped(all, &["a", "b"], &["from: a, to: b"]), &cut);
    warned(&piped(all, &["a constraints: {maxRetries: 1}"], &[]), &[]);
    warned(&piped("", &["a constraints: {maxRetries: 2}"], &[]), &[]);
}

#[test]
fn a_cheaper_model_that_a_persona_may_not_be_played_by_is_refused() {
    let refused = |text: &str| {
        let result = compiled(text);
        let found = result.diagnostics.iter().filter(|found| found.code == "workflow::model_excluded");
        let said: Vec<&str> = found.map(|found| found.message.as_str()).collect();
        let wanted = "`degrade_to` names `small`, and `modelConstraint` of persona `writer` excludes it";
        assert!(result.plan.is_none() && said == [wanted], "{}", shown(&result));
    };
    let spent = |model: &str| format!("when_spent: degrade, degrade_to: {model}");
    let of_run = |model: &str| {
        format!("{TWO}limits: {{budget_tokens: 9000, budget_mode: enforce, {}}}\n", spent(model))
    };
    let of_node = |node: &str, model: &str| {
        let (from, budget) = (format!("id: {node},"), format!("budget: {{tokens: 900, {}}}", spent(model)));
        TWO.replace(&from, &format!("{from} {budget},"))
    };
    refused(&of_run("small"));
    refused(&of_node("write", "small"));
    let plan_of_big = plan(&of_run("big"));
    assert_eq!(phase(plan_of_big.root(), "write").clearance.model.as_deref(), Some("big"));
    assert_eq!(phase(plan_of_big.root(), "copy").clearance.model, None);
    plan(&of_node("copy", "small"));
}
