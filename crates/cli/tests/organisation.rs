//! Organisations on the command line: the sample company as it stands among the examples, and what is refused.

use crate::common::World;
use serde_json::Value;

const HARBOUR: &str = include_str!("../../../examples/company/harbour.ttl");
const PREFIXES: &str =
    "@prefix cv: <https://w3id.org/convoke#> . @prefix : <https://harbour.example/org#> .\n";

fn world() -> World {
    let world = World::new();
    world.write("harbour.ttl", HARBOUR);
    world
}

/// Reports that fail: one in twenty.
const FAILING: [&str; 14] = [
    "it-1",
    "it-12",
    "it-30",
    "infrastructure-2",
    "infrastructure-20",
    "finance-5",
    "finance-25",
    "research-7",
    "research-33",
    "admin-4",
    "media-11",
    "communications-9",
    "wellness-3",
    "wellness-17",
];

fn replies(failing: &[&str]) -> String {
    let failing: String =
        failing.iter().map(|name| format!("  {name}: {{fail: refused, message: not today}}\n")).collect();
    format!("replies:\n{failing}  director: the answer of the house\ndefault: [a position]\n")
}

/// Every event of a run, of one kind.
fn events(world: &World, kind: &str) -> Vec<Value> {
    let said = world.run(&["events", "last", "--format", "json"]);
    let lines = said.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|event| event["event"].get(kind).cloned()).collect()
}

#[test]
fn the_sample_company_is_accepted_without_a_word() {
    let said = world().run(&["org", "check", "harbour.ttl"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stderr.starts_with("ok: harbour.ttl: 9 departments, 300 roles, 20 servers ("),
        "{}",
        said.stderr
    );
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

#[test]
fn each_mistake_is_refused_with_its_rule_and_place() {
    let cases = [
        (":finance cv:reportsTo :director .", "org::inconsistent", "cax-adc"),
        (":it-head cv:reportsTo :it-lead-1 .", "org::inconsistent", "prp-"),
        (":it-1 cv:mayNotUse :repository-manager-mcp .", "org::inconsistent", "prp-pdw"),
        (":finance cv:hasAgentRole :it-1 .", "org::two_departments", "two departments"),
        (":it cv:dependsOnDepartment :finance .", "org::", "Finance"),
        (":it-1 cv:usesTools :github-mcp .", "org::unknown_word", "did you mean `cv:usesTool`?"),
    ];
    for (lines, code, words) in cases {
        let world = world();
        world.write("more.ttl", format!("{PREFIXES}{lines}\n"));
        let said = world.run(&["org", "check", "harbour.ttl", "more.ttl"]);
        assert_eq!(said.code, 3, "{lines}: {}", said.stderr);
        for wanted in [code, words, "more.ttl:2"] {
            assert!(said.stderr.contains(wanted), "{lines}: {wanted} in {}", said.stderr);
        }
        // What is refused by `check` does not run either.
        world.write("all.ttl", format!("{HARBOUR}\n{lines}\n"));
        let said = world.run(&["run", "org:all.ttl", "-i", "query=why?", "-p", "scripted"]);
        assert_eq!(said.code, 3, "{lines}: {}", said.stderr);
    }
}

#[test]
fn three_hundred_roles_come_to_one_answer_and_name_what_failed() {
    let world = world();
    world.write("replies.yaml", replies(&FAILING));
    let args = [
        "run",
        "org:harbour.ttl",
        "-i",
        "query=Should we move?",
        "--replies",
        "replies.yaml",
        "--allow-partial",
    ];
    let said = world.run(&args);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let output: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(output["answer"], "the answer of the house");
    let missing: Vec<&str> = output["missing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|missing| missing["task"].as_str().unwrap())
        .collect();
    for name in FAILING {
        assert!(missing.contains(&name), "{name} in {missing:?}");
    }
    assert_eq!(missing.len(), FAILING.len(), "{missing:?}");
    // The director is told by name, through two levels.
    let shown = world.run(&["show", "last", "director", "--full"]).stdout;
    assert!(shown.contains("made without:") && shown.contains("it-12 (failed: not today)"), "{shown}");
    let asked = world.run(&["knowledge", "ask", "failed-tasks", "last", "--format", "csv"]);
    assert_eq!(
        asked
            .stdout
            .lines()
            .filter(|line| line.contains("cv:Failed") || line.contains("convoke#Failed"))
            .count(),
        FAILING.len()
    );
}

/// Twenty servers are named; a role is offered the tools of its own and of its department, and a call of any other is none.
#[test]
fn a_role_is_offered_its_own_servers_and_no_others() {
    let world = world();
    let printed = world.run(&["run", "org:harbour.ttl", "-i", "query=why?", "--print-manifest"]).stdout;
    assert_eq!(printed.matches("    command: ").count(), 20, "{printed}");
    let servers: String = (0..20)
        .map(|n| format!(":s{n} a cv:MCPServer ; rdfs:label \"s{n}\" ; cv:command \"python3\" ; cv:arguments \"server.py\" .\n"))
        .collect();
    let roles: String =
        (0..20).map(|n| format!(":r{n} cv:reportsTo :head ; cv:usesTool :s{n} .\n")).collect();
    let names: Vec<String> = (0..20).map(|n| format!(":r{n}")).collect();
    let company = format!(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n{PREFIXES}:c a cv:Company ; cv:hasDepartment :d .
        :d a cv:Department ; cv:headedBy :head ; cv:hasAgentRole :head , {} .\n{servers}{roles}",
        names.join(" , ")
    );
    world.write("company.ttl", company);
    world.write("server.py", include_str!("approvals/server.py"));
    let call = "{tool_calls: [{name: s3__look, arguments: {what: x}}]}";
    world.write(
        "replies.yaml",
        format!("replies:\n  r3: [{call}, done]\n  r4: [{call}, done]\ndefault: [a position]\n"),
    );
    let args = ["run", "org:company.ttl", "-i", "query=why?", "--replies", "replies.yaml", "--allow-partial"];
    let said = world.run(&args);
    assert_eq!(said.code, 0, "{}", said.stderr);
    // The server that `r4` calls runs, and is another role's: for `r4` there is no such tool.
    let failed = events(&world, "task_failed");
    assert_eq!(failed.iter().map(|one| &one["task"]).collect::<Vec<_>>(), ["r4"]);
    assert_eq!(failed[0]["failure"]["reason"], "no_tools");
    let called = events(&world, "tool_called");
    let called: Vec<String> = called.iter().map(|one| format!("{} {}", one["task"], one["tool"])).collect();
    assert_eq!(called, ["\"r3\" \"s3__look\""]);
    assert_eq!(
        std::fs::read_to_string(world.path("witness")).unwrap().lines().count(),
        1,
        "one call was made"
    );
}

#[test]
fn one_department_answers_by_its_head_and_down_goes_the_other_way() {
    let world = world();
    world.write("replies.yaml", "replies:\n  finance-head: buy it\ndefault: [a position]\n");
    let run = |more: &[&str]| {
        let args = ["run", "org:harbour.ttl#finance", "-i", "query=Buy?", "--replies", "replies.yaml"];
        world.run(&[&args, more].concat())
    };
    let said = run(&[]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("department `Finance` needs `IT`, which is not part of this work"),
        "{}",
        said.stderr
    );
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).unwrap()["answer"], "buy it");
    let first = |world: &World| events(world, "attempt_started")[0]["task"].as_str().unwrap().to_owned();
    assert_ne!(first(&world), "finance-head");
    let down = run(&["--down"]);
    assert_eq!(down.code, 0, "{}", down.stderr);
    assert_eq!(first(&world), "finance-head");
}

#[test]
fn a_superior_without_any_result_fails_by_name() {
    let world = World::new();
    let small = "@prefix cv: <https://w3id.org/convoke#> . @prefix : <https://small.example/#> .
        :small a cv:Company ; cv:hasDepartment :work . :work a cv:Department ; cv:headedBy :head ; cv:hasAgentRole :head , :a , :b .
        :a cv:reportsTo :head . :b cv:reportsTo :head .";
    world.write("small.ttl", small);
    world.write("replies.yaml", "replies:\n  a: {fail: refused}\n  b: {fail: refused}\ndefault: [x]\n");
    let said = world.run(&["run", "org:small.ttl", "-i", "query=why?", "--replies", "replies.yaml"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(
        said.stderr
            .contains("`head` has nothing to put together: none of 2 that it needs succeeded: `a`, `b`"),
        "{}",
        said.stderr
    );
    // With one of them it goes on.
    world.write("replies.yaml", "replies:\n  a: {fail: refused}\n  head: from b alone\ndefault: [x]\n");
    let said = world.run(&["run", "org:small.ttl", "-i", "query=why?", "--replies", "replies.yaml"]);
    assert!(said.stdout.contains("from b alone"), "{} {}", said.stdout, said.stderr);
}

#[test]
fn a_printed_manifest_runs_by_itself() {
    let world = world();
    let printed = world.run(&["run", "org:harbour.ttl#wellness", "-i", "query=Lunch?", "--print-manifest"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    world.write("wellness.yaml", &printed.stdout);
    let said = world.run(&["run", "wellness.yaml", "-p", "scripted"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let shown = world.run(&["org", "show", "harbour.ttl", "wellness-1"]);
    assert!(shown.stdout.contains("reports to   wellness-lead-1"), "{}", shown.stdout);
    let planned = world.run(&["org", "plan", "harbour.ttl#wellness", "-i", "query=Lunch?"]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
}

#[test]
fn a_department_that_is_not_there_is_named_with_the_nearest() {
    let said = world().run(&["run", "org:harbour.ttl#finanse", "-i", "query=x"]);
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains("did you mean `finance`?"), "{}", said.stderr);
}

const FIRM: &str = "@prefix cv: <https://w3id.org/convoke#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <https://firm.example/#> .
:firm a cv:Company ; cv:hasDepartment :law .
:law a cv:Department ; rdfs:label \"Law\" ; cv:headedBy :lawyer ; cv:hasAgentRole :lawyer , :clerk ; cv:offersTool :wiki .
:lawyer rdfs:label \"the lawyer\" ; cv:task \"Judge it.\" ; cv:systemPrompt \"You know the law.\" ; cv:timeoutSeconds 300 .
:clerk cv:reportsTo :lawyer ; cv:mayNotUse :wiki .
:wiki a cv:MCPServer ; cv:command \"python3\" ; cv:arguments \"server.py\" .
:policy a cv:ModelPolicy ; cv:forRole :lawyer ; cv:model \"law-1\" .
";

/// A role is used in a workflow: its words reach the model, its server is offered to it alone, and the graph knows who it was.
#[test]
fn a_step_that_names_a_role_is_that_role() {
    let world = World::new();
    world.write("firm.ttl", FIRM);
    world.write("server.py", include_str!("approvals/server.py"));
    let workflow = "workflow: {name: w, entry_point: judge, runtime: {provider: {name: scripted, file: replies.yaml}}}\nagents:\n  - {name: judge, role: 'org:firm.ttl#lawyer', routes: [{to: other}]}\n  \
                    - {name: other, prompt: Say it.}\n";
    world.write("w.yaml", workflow);
    let call = "{tool_calls: [{name: wiki__look, arguments: {what: x}}]}";
    world.write("replies.yaml", format!("replies:\n  judge: [{call}, judged]\n  other: [{call}, said]\n"));
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 1, "the other one has no such tool: {}", said.stderr);
    let failed = events(&world, "task_failed");
    assert_eq!(failed.iter().map(|one| &one["task"]).collect::<Vec<_>>(), ["other"]);
    let called = events(&world, "tool_called");
    assert_eq!(called.iter().map(|one| &one["task"]).collect::<Vec<_>>(), ["judge"]);
    let shown = world.run(&["show", "last", "judge", "--full"]).stdout;
    for words in ["Judge it.", "You know the law.", "law-1"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let asked = "SELECT ?role WHERE { ?t cv:taskId \"judge\" ; prov:wasAssociatedWith ?role . ?role cv:inDepartment ?d }";
    let rows = world.run(&["knowledge", "query", asked, "--format", "csv"]);
    assert!(rows.stdout.contains("https://firm.example/#lawyer"), "{} {}", rows.stdout, rows.stderr);

    // What was compiled at the start goes on: the file may be gone.
    std::fs::remove_file(world.path("firm.ttl")).unwrap();
    world.write("replies.yaml", "replies:\n  other: [said]\n");
    let said = world.run(&["resume", "last"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

#[test]
fn a_persona_that_names_a_role_is_that_role() {
    let world = World::new();
    world.write("firm.ttl", FIRM);
    world.write(
        "p.yaml",
        "schemaVersion: '1'\npersonas: [{id: p, role: 'org:firm.ttl#lawyer'}]\n\
         pipeline: {entryNodeId: n, nodes: [{id: n, actorId: x, personaId: p}]}\n",
    );
    let said = world.run(&["run", "p.yaml", "-p", "scripted"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let asked =
        "SELECT DISTINCT ?role ?model WHERE { ?t prov:wasAssociatedWith ?role ; cv:askedModel ?model }";
    let rows = world.run(&["knowledge", "query", asked, "--format", "csv"]).stdout;
    assert!(rows.contains("https://firm.example/#lawyer") && rows.contains("law-1"), "{rows}");
}

#[test]
fn a_role_that_cannot_be_taken_is_a_finding_of_check() {
    let world = World::new();
    world.write("firm.ttl", FIRM);
    world.write("broken.ttl", format!("{FIRM}:clerk cv:usesTools :wiki .\n"));
    let check = |folder: &str, role: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: a, runtime: {{provider: scripted}}}}\nagents:\n  - name: a\n    role: 'org:{role}'\n"
        );
        world.write(&format!("{folder}w.yaml"), text);
        world.run(&["check", &format!("{folder}w.yaml")])
    };
    let cases = [
        ("", "firm.ttl#lawyre", vec!["org::unknown_role", "did you mean `lawyer`?", "w.yaml:4"]),
        ("", "gone.ttl#lawyer", vec!["file::missing", "w.yaml:4"]),
        (
            "",
            "broken.ttl#lawyer",
            vec!["org::refused", "w.yaml:4", "org::unknown_word", "broken.ttl:9", "cv:usesTool"],
        ),
        ("alone/", "../firm.ttl#lawyer", vec!["file::outside", "alone/w.yaml:4"]),
    ];
    for (folder, role, wanted) in cases {
        let said = check(folder, role);
        assert_eq!(said.code, 3, "{role}: {}", said.stderr);
        for words in wanted {
            assert!(said.stderr.contains(words), "{role}: {words} in {}", said.stderr);
        }
    }
    assert_eq!(check("", "firm.ttl#lawyer").code, 0);
}
