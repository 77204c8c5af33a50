//! Runs the workflows below `workflows/cases`, one folder each, and compares what they give with what their `case.yaml`
//! says. They cover the language area by area; adding a folder adds a case.
//!
//! A case's agents are answered by the `scripted` provider (from `replies`, which becomes `replies.yaml`) or, where the
//! requests matter, by a model service on the loopback (from `service`; `${MODEL_URL}` says where it is, and a step
//! is known by the model it names).

use crate::support;

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::model::{Model, Request};
use support::{Said, World, in_tests, said};

/// One test per area, so that they run beside each other and a failure names its area.
macro_rules! areas {
    ($($area:ident),* $(,)?) => {
        $(#[test] fn $area() { run_area(stringify!($area)); })*

        #[test]
        fn every_area_is_listed_here() {
            let listed: Vec<_> = [$(stringify!($area)),*].map(str::to_owned).into();
            assert_eq!(names(&cases()), listed, "areas stand in the order of their names");
        }
    };
}

areas!(
    context,
    environment,
    fan_out,
    gates,
    groups,
    inputs,
    limits,
    loops,
    needs,
    outputs,
    retry,
    routing,
    schema,
    scripts,
    steps,
    sub_workflows,
    templates,
    validator,
);

fn cases() -> PathBuf {
    in_tests("workflows/cases")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn run_area(area: &str) {
    let cases = names(&cases().join(area));
    let wrong: Vec<_> = cases.iter().filter_map(|case| run_case(area, case).err()).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// A case, as its file says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What must hold, in words.
    about: String,
    /// `run` unless told.
    #[serde(default = "run")]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// For the scripted provider.
    replies: Option<Value>,
    /// For the model service, per model.
    #[serde(default)]
    service: Map<String, Value>,
    expect: Expect,
}

fn run() -> String {
    "run".to_owned()
}

/// What a case must give. What is left out is not looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    exit: i32,
    /// All of standard output, as JSON. Without it: `{}` (or nothing, where nothing was run) after a success, what there
    /// is under `partial` (or nothing) after a failure or a limit, nothing after a refusal.
    output: Option<Value>,
    /// Words on standard error, whatever the case of letters.
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    says_not: Vec<String>,
    /// How often the service was asked, per model; every model counts.
    asked: Option<BTreeMap<String, usize>>,
    /// Words that some request of a model holds.
    #[serde(default)]
    prompts: BTreeMap<String, Vec<String>>,
    /// Words that no request of a model holds.
    #[serde(default)]
    prompts_lack: BTreeMap<String, Vec<String>>,
    /// The least pause between an answer and the next request of a model.
    #[serde(default)]
    gaps_ms: BTreeMap<String, Vec<u64>>,
    most_at_once: Option<usize>,
    least_at_once: Option<usize>,
    /// Models whose request was given up before the answer.
    #[serde(default)]
    cut_off: Vec<String>,
    /// Files of the work folder and what they hold at the end.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// What must be waited for. There is no upper bound: what is not cut off takes an hour here, and hangs.
    least_seconds: Option<f64>,
}

/// What a case gave.
struct Seen {
    said: Said,
    asked: Vec<Request>,
    most_at_once: usize,
    time: Duration,
    world: World,
}

fn run_case(area: &str, name: &str) -> Result<(), String> {
    let folder = cases().join(area).join(name);
    let text =
        std::fs::read_to_string(folder.join("case.yaml")).map_err(|error| format!("{name}: {error}"))?;
    // YAML 1.2, as in workflow files: `yes` and `on` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    let case: Case = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| format!("{area}/{name}: {error}"))?;
    let seen = perform(&case, &folder);
    let wrong = case.expect.complaints(&seen);
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{area}/{name}: {}\n  {}\n{}", case.about, wrong.join("\n  "), seen.said)),
    }
}

fn perform(case: &Case, folder: &Path) -> Seen {
    let model = Model::start(&case.service);
    let mut world = World::new().env("MODEL_URL", &model.url()).env("MODEL_KEY", "none");
    for (name, value) in &case.env {
        world = world.env(name, value);
    }
    support::copy(folder, &world.work());
    if let Some(replies) = &case.replies {
        world.write("replies.yaml", replies.to_string());
    }
    let mut args = vec![case.command.as_str(), "workflow.yaml"];
    args.extend(case.args.iter().map(String::as_str));
    let begin = Instant::now();
    let said = world.start(&args).wait();
    let time = begin.elapsed();
    Seen { said, asked: model.asked(), most_at_once: model.most_at_once(), time, world }
}

impl Expect {
    fn complaints(&self, seen: &Seen) -> Vec<String> {
        let mut wrong = Vec::new();
        self.compare_end(seen, &mut wrong);
        self.compare_words(seen, &mut wrong);
        self.compare_requests(seen, &mut wrong);
        self.compare_times(seen, &mut wrong);
        for (name, expected) in &self.files {
            let found = seen.world.read(name);
            if found != *expected {
                wrong.push(format!("file {name} holds {found:?}, expected {expected:?}"));
            }
        }
        wrong
    }

    fn compare_end(&self, seen: &Seen, wrong: &mut Vec<String>) {
        if seen.said.code != Some(self.exit) {
            wrong.push(format!("exit {:?}, expected {}", seen.said.code, self.exit));
        }
        let stdout = seen.said.stdout.trim();
        let Some(expected) = &self.output else {
            let found: Option<Value> = serde_json::from_str(stdout).ok();
            let fits = match self.exit {
                0 => stdout.is_empty() || found.is_some_and(|found| found == serde_json::json!({})),
                1 | 4 => stdout.is_empty() || found.is_some_and(|found| found.get("partial").is_some()),
                _ => stdout.is_empty(),
            };
            if !fits {
                wrong.push("standard output is not what such an end prints".to_owned());
            }
            return;
        };
        match serde_json::from_str::<Value>(stdout) {
            Ok(found) if same(&found, expected) => {}
            Ok(found) => wrong.push(format!("output {found}, expected {expected}")),
            Err(error) => wrong.push(format!("standard output is no JSON: {error}")),
        }
    }

    fn compare_words(&self, seen: &Seen, wrong: &mut Vec<String>) {
        let stderr = &seen.said.stderr;
        let missing = self.says.iter().filter(|word| !said(stderr, word));
        wrong.extend(missing.map(|word| format!("does not say `{word}`")));
        let unwanted = self.says_not.iter().filter(|word| said(stderr, word));
        wrong.extend(unwanted.map(|word| format!("says `{word}`")));
    }

    fn compare_requests(&self, seen: &Seen, wrong: &mut Vec<String>) {
        let of =
            |model: &str| seen.asked.iter().filter(move |asked| asked.model == model).collect::<Vec<_>>();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        seen.asked.iter().for_each(|asked| *counts.entry(asked.model.clone()).or_default() += 1);
        if self.asked.as_ref().is_some_and(|expected| *expected != counts) {
            wrong.push(format!("requests {counts:?}, expected {:?}", self.asked));
        }
        let holds = |model: &str, words: &String| of(model).iter().any(|asked| asked.text.contains(words));
        for (model, words) in pairs(&self.prompts).filter(|(model, words)| !holds(model, words)) {
            let texts: Vec<_> = of(model).iter().map(|asked| asked.text.clone()).collect();
            wrong.push(format!("no request of {model} holds {words:?}: {texts:?}"));
        }
        for (model, words) in pairs(&self.prompts_lack).filter(|(model, words)| holds(model, words)) {
            wrong.push(format!("a request of {model} holds {words:?}"));
        }
        for model in self.cut_off.iter().filter(|model| !of(model).iter().any(|asked| asked.cut_off)) {
            wrong.push(format!("no request of {model} was cut off"));
        }
    }

    fn compare_times(&self, seen: &Seen, wrong: &mut Vec<String>) {
        for (model, gaps) in &self.gaps_ms {
            let asked: Vec<_> = seen.asked.iter().filter(|asked| asked.model == *model).collect();
            for (pair, gap) in asked.windows(2).zip(gaps) {
                let pause = pair[0].end.map_or(Duration::ZERO, |end| pair[1].begin - end);
                if pause < Duration::from_millis(*gap) {
                    wrong.push(format!("{model} was asked again after {pause:?}, expected {gap} ms"));
                }
            }
        }
        if self.most_at_once.is_some_and(|most| seen.most_at_once > most)
            || self.least_at_once.is_some_and(|least| seen.most_at_once < least)
        {
            wrong.push(format!("{} requests at once", seen.most_at_once));
        }
        let seconds = seen.time.as_secs_f64();
        if self.least_seconds.is_some_and(|least| seconds < least) {
            wrong.push(format!("took {seconds:.2} s"));
        }
    }
}

fn pairs(map: &BTreeMap<String, Vec<String>>) -> impl Iterator<Item = (&String, &String)> {
    map.iter().flat_map(|(model, words)| words.iter().map(move |words| (model, words)))
}

/// JSON equality by value: 1 is 1.0, and the order of keys does not matter.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
