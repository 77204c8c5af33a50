//! Times of usual questions over a large graph, beside a store in memory: printed, and no verdict, because they depend on the machine.
//!
//! `CONVOKE_QUADS=5000000 cargo test --profile dist -p convoke-knowledge --test all figures -- --nocapture`
//! (left out unless CONVOKE_QUADS says how many quads).
#![allow(
    clippy::print_stdout,
    clippy::suspicious_map,
    reason = "figures are for people; each row is to be made, not just counted"
)]

use convoke_knowledge::ask::{Bounds, Form, Question, View, answer};
use convoke_knowledge::project::{Change, NothingBeside, Projector, Telling, graph_of};
use convoke_knowledge::store::Store;
use convoke_model::{Event, JsonText, Payload, RunId, RunStatus, Stamped, TaskId, Timestamp, Usage};
use convoke_testkit::events::{attempt, started};
use convoke_testkit::{Random, plan_of};
use oxigraph::model::{GraphName, Quad};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use std::time::{Duration, Instant};

/// Agents of a simulated run.
const AGENTS: u64 = 300;

const QUESTIONS: [(&str, &str); 8] = [
    ("tasks by model", "SELECT ?m (COUNT(?t) AS ?n) { ?t cv:askedModel ?m } GROUP BY ?m ORDER BY DESC(?n)"),
    (
        "cost by role and day",
        "SELECT ?r ?d (SUM(?c) AS ?cost) { ?run cv:day ?d . ?t cv:inExecution ?run ; prov:wasAssociatedWith ?r . ?a cv:attemptOf ?t ; cv:costMicros ?c } GROUP BY ?r ?d ORDER BY DESC(?cost) LIMIT 50",
    ),
    (
        "cost by role, one day",
        "SELECT ?r (SUM(?c) AS ?cost) { ?run cv:day \"1970-01-03\"^^xsd:date . ?t cv:inExecution ?run ; prov:wasAssociatedWith ?r . ?a cv:attemptOf ?t ; cv:costMicros ?c } GROUP BY ?r ORDER BY DESC(?cost) LIMIT 50",
    ),
    (
        "sources of an answer",
        "SELECT ?s ?r { <urn:convoke:run:r3:answer> prov:wasDerivedFrom+ ?s . ?s prov:wasGeneratedBy/prov:wasAssociatedWith ?r }",
    ),
    (
        "failed more than three times",
        "SELECT ?r (COUNT(?a) AS ?n) { ?a cv:status cv:Failed ; cv:attemptOf ?t . ?t prov:wasAssociatedWith ?r } GROUP BY ?r HAVING (COUNT(?a) > 3) ORDER BY DESC(?n) LIMIT 20",
    ),
    (
        "one run",
        "SELECT ?t ?s ?d ?m { ?x cv:inExecution <urn:convoke:run:r3> ; cv:taskId ?t ; cv:status ?s ; cv:durationMicros ?d . OPTIONAL { ?x cv:askedModel ?m } } ORDER BY DESC(?d)",
    ),
    (
        "critical steps",
        "SELECT ?r ?t ?d { ?x cv:criticalStep ?s ; cv:durationMicros ?d ; cv:inExecution ?r ; cv:taskId ?t } ORDER BY DESC(?d) LIMIT 10",
    ),
    (
        "tasks by graph",
        "SELECT ?g (COUNT(?t) AS ?n) { GRAPH ?g { ?t a cv:Task } } GROUP BY ?g ORDER BY DESC(?n) LIMIT 5",
    ),
];

fn plan() -> convoke_plan::Plan {
    let agents: String = (0..AGENTS)
        .map(|n| format!("  - {{id: w{n}, role: worker {}, model: 'openai:m{}'}}\n", n % 40, n % 12))
        .collect();
    let needs: Vec<String> = (0..AGENTS).map(|n| format!("w{n}")).collect();
    let text = format!(
        "agents:\n{agents}  - {{id: head, depends_on: [{}]}}\nquery: q\nsynthesis: {{of: [head]}}\n",
        needs.join(", ")
    );
    (*plan_of(&text, &[])).clone()
}

fn events(run: u64, random: &mut Random) -> Vec<Stamped> {
    let mut at = run * 20_000_000_000;
    let mut all = Vec::new();
    let mut put =
        |at: u64, event: Event| all.push(Stamped { seq: all.len() as u64 + 1, at: Timestamp(at), event });
    let mut first = started();
    if let Event::RunStarted(started) = &mut first {
        started.run = RunId(format!("r{run}").into());
    }
    put(at, first);
    for name in (0..AGENTS).map(|n| format!("w{n}")).chain(["head".to_owned()]) {
        put(at, attempt(&name, 1));
        let usage = Usage {
            calls: 1,
            input_tokens: 900,
            output_tokens: random.below(500),
            cost_micros: 1 + random.below(900),
            ..Usage::default()
        };
        let task = TaskId(name.into());
        at += random.below(2_000_000);
        let mut number = 1;
        if random.percent(6) {
            let failure = convoke_model::Failure::new(convoke_model::Class::Timeout, "late");
            put(at, Event::AttemptFailed { task: task.clone(), attempt: 1, failure, usage, partial: None });
            put(at, attempt(&task.0, 2));
            number = 2;
        }
        let output = Payload::Inline(JsonText::of(&format!(
            "{task} says {} about things that matter in run {run} and elsewhere",
            random.number()
        )));
        put(at, Event::AttemptFinished { task, attempt: number, output, usage });
    }
    let output = Some(Payload::Inline(JsonText::of(&"the answer")));
    put(at, Event::RunFinished { status: RunStatus::Succeeded, output, failure: None });
    all
}

#[test]
fn figures_of_usual_questions() {
    let Some(wanted) = std::env::var("CONVOKE_QUADS").ok().and_then(|text| text.parse::<u64>().ok()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let (mut store, _) = Store::open(&path).unwrap();
    let memory = oxigraph::store::Store::new().unwrap();
    let (plan, mut random) = (plan(), Random::new(1));
    let (mut quads, mut runs) = (0, 0);
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    while quads < wanted {
        let run = RunId(format!("r{runs}").into());
        let begin = Instant::now();
        let mut projector = Projector::new(&run, plan.clone(), Telling::default());
        let changes = events(runs, &mut random)
            .iter()
            .flat_map(|event| projector.take(event, &NothingBeside))
            .collect::<Vec<_>>();
        let added: Vec<Quad> = changes
            .into_iter()
            .flat_map(|change| if let Change::Add(quads) = change { quads } else { Vec::new() })
            .collect();
        store.in_one(|writing| writing.add(&added)).unwrap();
        ours += begin.elapsed();
        quads += added.len() as u64;
        runs += 1;
        let begin = Instant::now();
        // Our default graph is the union of all: theirs holds it as well.
        let union = added.iter().map(|quad| Quad { graph_name: GraphName::DefaultGraph, ..quad.clone() });
        memory.extend(added.iter().cloned().chain(union)).unwrap();
        theirs += begin.elapsed();
        assert_eq!(added[0].graph_name, GraphName::NamedNode(graph_of(&run)));
    }
    drop(store);
    let size = std::fs::metadata(&path).unwrap().len();
    println!(
        "{quads} quads of {runs} runs, {} bytes each; written at {:.0} quads/s, theirs {:.0}",
        size / quads,
        quads as f64 / ours.as_secs_f64(),
        quads as f64 / theirs.as_secs_f64()
    );
    let prefixes: String = convoke_knowledge::vocab::PREFIXES
        .iter()
        .map(|(name, space)| format!("PREFIX {name}: <{space}> "))
        .collect();
    let connection = Store::reader(&path).unwrap();
    println!("{:<30} {:>10} {:>10} {:>7}", "ms, warm", "ours", "memory", "ratio");
    for (name, query) in QUESTIONS {
        let ask = || {
            answer(
                &connection,
                &Question {
                    query: query.to_owned(),
                    bounds: Bounds::PERSON,
                    view: View::All,
                    form: Form::Rows,
                    given: None,
                },
            )
            .unwrap()
            .rows
        };
        let text = format!("{prefixes}{query}");
        let other = || match SparqlEvaluator::new()
            .parse_query(&text)
            .unwrap()
            .on_store(&memory)
            .execute()
            .unwrap()
        {
            QueryResults::Solutions(solutions) => solutions.map(|row| row.unwrap()).count(),
            _ => unreachable!("all of them select"),
        };
        assert_eq!(ask(), other(), "{name}");
        let (mine, their) = (best(ask), best(other));
        println!("{name:<30} {mine:>10.2} {their:>10.2} {:>7.2}", mine / their);
    }
}

/// The best of three, in milliseconds.
fn best(work: impl Fn() -> usize) -> f64 {
    let timed = || {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed().as_secs_f64() * 1000.0
    };
    (0..3).map(|_| timed()).fold(f64::INFINITY, f64::min)
}
