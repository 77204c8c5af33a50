//! What a persona manifest becomes: phases, workers, members, actors.

use crate::personas::kit::{TWO, agent, node, phase, piped, plan, refused, text};
use crate::personas::world::{World, compiled, shown};
use convoke_plan::compile::{Degrade, DegradeOf, Options};
use convoke_plan::{Condition, Kind, NodeIx, On, Plan, ProjectPlace, Requires, Topology};

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

#[test]
fn a_cheaper_model_of_anything_around_a_pipeline_is_held_against_its_personas() {
    let spent = "when_spent: degrade, degrade_to: small";
    let root = |to: &str| {
        format!(
            "workflow: {{name: w, entry_point: s}}\nagents:\n  - {{name: s, type: workflow, workflow: {to}}}\n"
        )
    };
    let between = root("pipe.yaml").replace(
        "{name: w,",
        &format!("{{name: m, limits: {{budget_tokens: 9, budget_mode: enforce, {spent}}},"),
    );
    let group = format!(
        "workflow: {{name: m, entry_point: g}}\nagents: []\nfor_each:\n  - {{name: g, type: for_each, items: [1], as: n, budget: {{tokens: 9, {spent}}}, agent: {{name: s, type: workflow, workflow: pipe.yaml}}}}\n"
    );
    let members = format!(
        "workflow: {{name: m, entry_point: g}}\nagents:\n  - {{name: s, type: workflow, workflow: pipe.yaml}}\n  - {{name: t, prompt: x}}\nparallel: [{{name: g, agents: [s, t], budget: {{tokens: 9, {spent}}}}}]\n"
    );
    for mid in [between, group, members] {
        let compile = |mid: &str| {
            let world = World::default().file("main.yaml", &root("mid.yaml"));
            world.file("mid.yaml", mid).file("pipe.yaml", TWO).compile()
        };
        let result = compile(&mid);
        let found = result.diagnostics.iter().filter(|found| found.code == "workflow::model_excluded");
        assert_eq!(found.count(), 1, "{mid}\n{}", shown(&result));
        let allowed = compile(&mid.replace("small", "big"));
        assert!(allowed.plan.is_some(), "{}", shown(&allowed));
    }
}

#[test]
fn a_cheaper_model_of_the_configuration_that_a_persona_excludes_is_warned_of() {
    let warned = |text: &str, of: DegradeOf, model: &str| {
        let degrades = vec![Degrade { of, model: model.to_owned() }];
        let options = Options { degrades, ..Options::default() };
        let result = World::default().file("main.yaml", text).compile_with(&options);
        assert!(result.plan.is_some(), "{}", shown(&result));
        let excluded = result.diagnostics.iter().filter(|found| found.code == "workflow::model_excluded");
        excluded.map(|found| found.message.clone()).collect::<Vec<_>>()
    };
    let said = |key: &str| {
        let key = format!("`budgets.{key}.degrade_to` of the configuration names `small`");
        vec![format!("{key}, and `modelConstraint` of persona `writer` excludes it")]
    };
    let blue = || DegradeOf::Tenant("blue".into());
    assert_eq!(warned(TWO, DegradeOf::Day, "small"), said("day"));
    assert_eq!(warned(TWO, DegradeOf::Run, "small"), said("run"));
    assert_eq!(warned(TWO, DegradeOf::Day, "big"), Vec::<String>::new());
    assert_eq!(warned(TWO, blue(), "small"), Vec::<String>::new(), "another's money");
    assert_eq!(warned(&format!("{TWO}labels: {{tenant: blue}}\n"), blue(), "small"), said("tenants.blue"));
    let own = format!("{TWO}limits: {{budget_tokens: 9000, budget_mode: enforce}}\n");
    assert_eq!(warned(&own, DegradeOf::Run, "small"), Vec::<String>::new(), "the file says it itself");
}

/// Puts a budget that goes on with a model around what a text calls.
type Around<'a> = &'a dyn Fn(&str, &str) -> String;

#[test]
fn a_cheaper_model_of_whatever_calls_the_manifest_is_refused_too() {
    let calls = |file: &str| {
        let calls = format!("type: workflow, workflow: {file}");
        format!(
            "workflow: {{name: w, entry_point: g, limits: {{}}}}\nagents:\n  - {{name: t, {calls}}}\n  - {{name: u, type: set, value: '1'}}\nparallel:\n  - {{name: g, agents: [t, u]}}\n"
        )
    };
    let found = |text: &str, between: &str| {
        let world = World::default().file("main.yaml", text).file("mid.yaml", between);
        let result = world.file("team.yaml", TWO).compile();
        let excluded = result.diagnostics.iter().filter(|found| found.code == "workflow::model_excluded");
        assert_eq!(result.errors(), excluded.clone().count(), "{}", shown(&result));
        excluded.count()
    };
    let spent = |model: &str| format!("when_spent: degrade, degrade_to: {model}");
    let group = |text: &str, model: &str| {
        text.replace("agents: [t, u]", &format!("agents: [t, u], budget: {{tokens: 900, {}}}", spent(model)))
    };
    let limits = |text: &str, model: &str| {
        let limits = format!("limits: {{budget_tokens: 900, budget_mode: enforce, {}}}", spent(model));
        text.replace("limits: {}", &limits)
    };
    let (team, mid) = (calls("team.yaml"), calls("mid.yaml"));
    assert_eq!((found(&team, &team), found(&mid, &team)), (0, 0));
    let ways: [Around<'_>; 2] = [&group, &limits];
    for around in ways {
        assert_eq!((found(&around(&team, "small"), &team), found(&around(&team, "big"), &team)), (1, 0));
        assert_eq!(found(&around(&mid, "small"), &team), 1, "two files above");
        assert_eq!(found(&mid, &around(&team, "small")), 1, "in the middle");
    }
}
