//! Names and circles: of personas, nodes, edges and events.

use crate::personas::kit::{node, piped, plan, refused, warned};
use crate::personas::world::{compiled, findings};

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
fn an_edge_that_leads_back_needs_a_bound_and_the_bound_stands_there() {
    let circle = |first: &str, second: &str| {
        piped(
            "",
            &["a", "b", "c"],
            &["from: a, to: b", &format!("from: b, to: c{first}"), &format!("from: c, to: b{second}")],
        )
    };
    refused(&circle("", ""), &[("workflow::pipeline_cycle", "`maxRounds: 3`")]);
    refused(
        &circle(", maxRounds: 2", ""),
        &[("workflow::pipeline_cycle", "the edge that leads back has none")],
    );
    refused(&circle("", ", maxRounds: 1"), &[("workflow::out_of_range", "maxRounds")]);
    let plan = warned(&circle("", ", maxRounds: 3"), &[]);
    let names: Vec<&str> =
        plan.root().nodes.iter().map(|node| &*node.name).filter(|name| !name.starts_with('$')).collect();
    assert_eq!(names, ["a", "b", "c", "b#2", "c#2", "b#3", "c#3"]);
    let on = piped("", &["a", "b"], &["from: a, to: b, maxRounds: 2"]);
    warned(&on, &[("workflow::no_effect", "does not lead back")]);
}

#[test]
fn only_a_blocked_task_may_be_announced_against_a_status() {
    let events = |text: &str| {
        piped(
            &format!("events: [{text}]\n"),
            &["a", "b"],
            &["from: a, to: b, on: success, event: task_blocked"],
        )
    };
    warned(&events("{type: task_blocked, anyStatus: true}"), &[]);
    refused(
        &events("{type: task_blocked, anyStatus: true}, {type: deployed, anyStatus: true}"),
        &[("workflow::needs_key", "anyway")],
    );
    let passed = events("{type: task_blocked, anyStatus: true}, {type: validation_passed, anyStatus: true}");
    refused(&passed, &[("workflow::no_effect", "standard"), ("workflow::needs_key", "against its status")]);
}
