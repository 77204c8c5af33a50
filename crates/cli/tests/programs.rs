//! `strategy: rlm`, whole: a model that sees a description of many outputs, its programs in workers of the same binary.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::model::{Model, Request};
use support::process::until;

const SERVICE: &str = r#"{name: openai, base_url: "${MODEL_URL}", api_key: "${MODEL_KEY}"}"#;

/// Outputs of 20 KB; one of them holds a fact.
const MANY: &str = r#"
workflow:
  name: many
  entry_point: each
  runtime: {provider: {name: openai, base_url: "${MODEL_URL}", api_key: "${MODEL_KEY}"}, default_model: root}
  limits: {max_iterations: 5000}
  input: {numbers: {type: array}, hidden: {type: number, default: 617}}
for_each:
  - name: each
    type: for_each
    source: workflow.input.numbers
    as: number
    agent:
      name: item
      type: set
      values:
        text: "{% if number == workflow.input.hidden %}the code word is HERON{% else %}nothing{% endif %} {{ 'lorem ipsum ' * 1700 }}"
    routes: [{to: synthesis}]
agents:
  - name: synthesis
    type: reduce
    of: each
    strategy: rlm
    query: What is the code word?
    rlm: {model: reader, metadata_chars: 4000, time: 20m}
output:
  answer: "{{ synthesis.output.result }}"
  report: "{{ synthesis.output | json }}"
"#;

const LOOK: &str = r#"Let me look.
```python
found = search(r"code word is \w+")
everything = [get(output["id"])["text"] for output in outputs()]
print(len(everything), found[0]["id"])
print(everything)
```"#;

const ASK: &str = r#"
```python
place = found[0]
part = slice(place["id"], place["start"], place["end"])
first = llm("FIRST: the code word in: " + part)
second = llm("SECOND: in capitals: " + first)
final(f"The code word is {second} [{place['id']}].")
```"#;

fn many(model: &Model, outputs: usize) -> World {
    let world = World::with_workflow(MANY).env("MODEL_KEY", "none").env("MODEL_URL", &model.url());
    let numbers: Vec<usize> = (0..outputs).collect();
    world.write("in.json", json!({ "numbers": numbers, "hidden": hidden_in(outputs) }).to_string());
    world
}

/// Which output holds the fact.
fn hidden_in(outputs: usize) -> usize {
    outputs * 617 / 1000
}

const RUN: [&str; 4] = ["run", "w.yaml", "--input-file", "in.json"];

/// A model that writes these programs in turn, and a reader that answers with a word.
fn model(programs: &'static [&'static str]) -> Model {
    Model::answering(move |body| {
        let messages = body["messages"].as_array().unwrap();
        match body["model"].as_str().unwrap() {
            "root" => {
                let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
                json!(programs[turns.min(programs.len() - 1)])
            }
            _ => json!({"say": "HERON", "delay_ms": 50}),
        }
    })
}

fn by<'a>(asked: &'a [Request], model: &str) -> Vec<&'a Request> {
    asked.iter().filter(|asked| asked.model == model).collect()
}

/// How many outputs there are. `CONVOKE_PROGRAM_OUTPUTS=1000` is the long version: an unoptimised interpreter takes a minute
/// for twenty million characters.
fn how_many() -> usize {
    std::env::var("CONVOKE_PROGRAM_OUTPUTS").ok().map_or(60, |text| text.parse().expect("a number"))
}

#[test]
fn a_fact_in_one_of_many_outputs_is_found_by_a_model_that_never_sees_them() {
    let (model, outputs) = (model(&[LOOK, ASK]), how_many());
    let (world, hidden) = (many(&model, outputs), hidden_in(outputs));
    let result = world.convoke(&RUN).exits(0).json();
    assert_eq!(result["answer"], json!(format!("The code word is HERON [S{}].", hidden + 1)));
    let report = &result["report"];
    let facts = (&report["strategy"], &report["rounds"], &report["calls"], &report["notes"]);
    assert_eq!(facts, (&json!("rlm"), &json!(2), &json!(4), &json!([])));
    let sources = report["sources"].as_array().unwrap();
    let cited: Vec<_> = sources.iter().filter(|source| source["cited"] == true).collect();
    let task = json!(format!("each[{hidden}]"));
    assert_eq!((sources.len(), cited.len(), &cited[0]["task"]), (outputs, 1, &task));
    let asked = model.asked();
    let root = by(&asked, "root");
    // Twice: the standing orders and the question, then what the first program printed of all that it has read.
    let first = root[0].text.len();
    let count = format!("{outputs} outputs, ");
    assert!(root[0].text.contains(&count) && root[0].text.contains("- S1 "), "{}", root[0].text);
    let orders = root[0].text.find("## OUTPUTS").unwrap() + 400;
    assert!(first < orders + 4_000, "{first} characters, {orders} of them orders");
    assert!(root[1].text.len() < first + LOOK.len() + 4_100, "{}", root[1].text.len());
    assert!(root[1].text.contains(&format!("{outputs} S{}\n", hidden + 1)));
    let reader: Vec<_> = by(&asked, "reader").iter().map(|asked| asked.text.clone()).collect();
    assert!(reader[0].contains("code word in: code word is HERON"), "{reader:?}");
    assert_eq!((root.len(), reader.len()), (2, 2));
}

#[test]
fn each_question_of_a_program_is_a_task() {
    let model = model(&[LOOK, ASK]);
    let world = many(&model, 20);
    world.convoke(&RUN).exits(0);
    let run = world.run();
    let tasks = world.convoke(&["show", &run, "--format", "json"]).exits(0).stdout;
    for task in ["synthesis/llm[1]", "synthesis/llm[2]"] {
        assert!(tasks.contains(task), "{tasks}");
        let shown = world.convoke(&["show", &run, task]).exits(0).stdout;
        assert!(shown.contains("HERON") && shown.contains("reader"), "{shown}");
    }
    let shown = world.convoke(&["show", &run, "synthesis", "--full"]).exits(0).stdout;
    assert!(shown.contains("20 outputs,") && shown.contains("part = slice("), "{shown}");
}

#[test]
fn killed_between_two_questions_it_goes_on_at_the_second() {
    let model = Model::answering(|body| {
        let text = body["messages"].to_string();
        match body["model"].as_str().unwrap() {
            "root" if text.contains("found[0]") || text.contains("It printed") => json!(ASK),
            "root" => json!(LOOK),
            // Slow enough to be killed at, the first time and every time.
            _ if text.contains("SECOND") => json!({"say": "HERON", "delay_ms": 1_500}),
            _ => json!("heron"),
        }
    });
    let world = many(&model, 20);
    let mut process = world.start(&RUN);
    until("the second question", || model.asked().iter().any(|asked| asked.text.contains("SECOND")));
    process.kill();
    let said = world.convoke(&["resume", &world.run()]).exits(0);
    assert_eq!(said.json()["answer"], json!("The code word is HERON [S13]."));
    let asked = model.asked();
    let count = |word: &str| by(&asked, "reader").iter().filter(|asked| asked.text.contains(word)).count();
    assert_eq!((by(&asked, "root").len(), count("FIRST"), count("SECOND")), (2, 1, 2));
    assert_eq!(said.json()["report"]["rounds"], json!(2));
}

#[test]
fn out_of_turns_it_is_merged_by_levels_and_says_so() {
    let model = model(&["```python\nprint(len(outputs()))\n```"]);
    let world = many(&model, 20);
    let text = MANY.replace("metadata_chars: 4000", "metadata_chars: 4000, max_turns: 3");
    world.write("w.yaml", text.replace("'lorem ipsum ' * 1700", "'x'"));
    let said = world.convoke(&RUN).exits(0).mentions(&["there is no answer after 3 programs"]);
    let report = said.json()["report"].clone();
    assert_eq!(report["strategy"], json!("hierarchical"));
    let note = report["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("the merge by programs failed") && note.contains("after 3 programs"), "{report}");
    let asked = model.asked();
    let programs = asked.iter().filter(|asked| asked.text.contains("final(value)")).count();
    assert_eq!((programs, asked.len()), (3, 3 + 3), "three programs, two groups and their merge");
}

#[test]
fn hostile_programs_end_their_worker_and_the_run_goes_on() {
    const HOSTILE: &[&str] = &[
        "```python\nwhile True:\n    pass\n```",
        "```python\nprint(open('/etc/passwd').read())\n```",
        "```python\nx = 'x' * 160_000_000_000\n```",
        "```python\ndef f(n):\n    return f(n + 1)\nf(0)\n```",
        "```python\nimport socket\n```",
        "```python\nfinal('still here')\n```",
    ];
    let model = model(HOSTILE);
    let world = many(&model, 12);
    world.write(
        "w.yaml",
        MANY.replace("metadata_chars: 4000, time: 20m", "metadata_chars: 4000, time: 8s, memory_mb: 64"),
    );
    let result = world.convoke(&RUN).exits(0).json();
    assert_eq!(result["answer"], json!("still here"));
    let last = by(&model.asked(), "root").last().unwrap().text.clone();
    for word in ["variables of earlier programs are gone", "there are no files", "RecursionError", "socket"] {
        assert!(last.contains(word), "{word}: {last}");
    }
    assert!(!last.contains("root:"), "{last}");
}

#[test]
fn programs_start_programs_which_know_the_outputs_by_the_same_marks() {
    let model = Model::answering(|body| {
        let messages = body["messages"].as_array().unwrap();
        let question = messages[1]["content"].as_str().unwrap_or_default();
        match body["model"].as_str().unwrap() {
            "root" if question.contains("deeper") => json!(
                "```python\nids = [o['id'] for o in outputs()]\ntry:\n    rlm('too deep')\nexcept RuntimeError as error:\n    \
                 note = str(error)\nfinal(f\"{llm('what is in ' + ids[0])} [{ids[0]}], {len(ids)} seen; {note}\")\n```"
            ),
            "root" => json!(
                "```python\nanswer = rlm('Look deeper', ['S5', 'S6'])\nboth = llm_map(['one', 'fails', 'three'])\n\
                 final(answer + ' ' + str(both))\n```"
            ),
            _ if messages.last().unwrap()["content"].as_str().unwrap_or_default().contains("fails") => {
                json!({"status": 400, "message": "no"})
            }
            _ => json!("words"),
        }
    });
    let world = many(&model, 12);
    world.write("w.yaml", MANY.replace("metadata_chars: 4000", "metadata_chars: 4000, max_depth: 1"));
    // One at a time is enough: a task that waits for its sub-queries holds nothing.
    let said = world.convoke(&[&RUN[..], &["--max-concurrency", "1"]].concat()).exits(0).json();
    let answer = said["answer"].as_str().unwrap();
    assert!(answer.starts_with("words [S5], 2 seen; rlm(): programs may stand 1 deep"), "{answer}");
    assert!(answer.contains("['words', {'error': ") && answer.ends_with("}, 'words']"), "{answer}");
    assert_eq!(said["report"]["notes"], json!(["1 of 4 questions of its programs were not answered"]));
    let cited = said["report"]["sources"].as_array().unwrap().iter().filter(|source| source["cited"] == true);
    assert_eq!(cited.map(|source| source["task"].clone()).collect::<Vec<_>>(), [json!("each[4]")]);
    let tasks = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).stdout;
    for task in ["synthesis/rlm[1]", "synthesis/rlm[1]/llm[1]", "synthesis/llm[2]", "synthesis/llm[4]"] {
        assert!(tasks.contains(task), "{task}: {tasks}");
    }
}

#[test]
fn a_recorded_run_with_programs_is_had_again_without_models() {
    let model = model(&[LOOK, ASK]);
    let world = many(&model, 20);
    let live = world.convoke(&[&RUN[..], &["--record", "tape"]].concat()).exits(0).json();
    let before = model.asked().len();
    let again = world.convoke(&[&RUN[..], &["--replay", "tape"]].concat()).exits(0).json();
    assert_eq!((again, model.asked().len()), (live, before));
}

#[test]
fn scripted_answers_to_programs_are_taken_one_for_each_turn() {
    let world = many(&model(&[""]), 20);
    let replies: Value = json!({
        "replies": {"synthesis": [LOOK, ASK]},
        "match": [{"pattern": "FIRST", "replies": ["heron"]}, {"pattern": "SECOND", "replies": ["HERON"]}],
    });
    world.write("replies.yaml", replies.to_string());
    world.write("scripted.yaml", MANY.replace(SERVICE, "{name: scripted, file: replies.yaml}"));
    let said = world.convoke(&["run", "scripted.yaml", "--input-file", "in.json"]).exits(0).json();
    assert_eq!(said["answer"], json!("The code word is HERON [S13]."));
    // Without a list, a program is made up.
    let said = world.convoke(&[&RUN[..], &["-p", "scripted"]].concat()).exits(0).json();
    assert_eq!(said["answer"], json!("Scripted answer from 20 outputs"));
}

#[cfg(feature = "knowledge")]
const GRAPHS: &str = r#"
```python
family = "@prefix : <https://x.example/#> . :parent rdfs:subPropertyOf :ancestor . :ancestor a owl:TransitiveProperty . :a :parent :b . :b :parent :c ."
count = "SELECT (COUNT(?y) AS ?n) { <https://x.example/#a> <https://x.example/#ancestor> ?y }"
stated = ephemeral_graph_query(family, count)[0]["n"]
follows = owl_query(family, count)[0]["n"]
known = [row["o"] for row in kg_bulk_export() if row["p"] == "cv:taskId"]
try:
    owl_query("no turtle", count)
    said = ""
except RuntimeError as error:
    said = str(error)
final(f"{stated} {follows} {'each[3]' in known} {len(kg_bulk_export(limit=7))} {said}")
```"#;

/// Programs ask graphs: of their own statements, of what follows from them, of their own run; a replay has the same answers.
#[cfg(feature = "knowledge")]
#[test]
fn programs_ask_graphs_and_a_replay_answers_the_same() {
    let model = model(&[GRAPHS]);
    let world = many(&model, 5);
    let live = world.convoke(&[&RUN[..], &["--record", "tape"]].concat()).exits(0).json();
    let answer = live["answer"].as_str().unwrap();
    assert!(answer.starts_with("0 2 True 7 owl_query(): ") && answer.contains("no Turtle"), "{answer}");
    let again = world.convoke(&[&RUN[..], &["--replay", "tape"]].concat()).exits(0).json();
    assert_eq!(again["answer"], live["answer"]);
}
