//! What is said about capacity and money, and refused: in configuration, files and commands.

use crate::common;

use common::{Said, World};
use insta::assert_snapshot;

const SMALL: &str = "\
workflow: {name: small, entry_point: one}
agents:
  - {name: one, type: set, value: hello}
output: {said: '{{ one.output }}'}
";

/// What a command says about a contradictory configuration. No command starts anything.
#[track_caller]
fn refused(configuration: &str) -> String {
    let world = World::with(SMALL);
    world.write("convoke.toml", configuration);
    let Said { stdout, stderr, code } = world.run(&["run", "w.yaml"]);
    assert_eq!((stdout.as_str(), code), ("", 2), "{stderr}");
    assert!(!world.state().join("runs").exists(), "nothing was started");
    stderr
}

#[test]
fn numbers_that_limit_nothing_are_refused_with_key_file_and_line() {
    let said = refused(
        "machine_concurrency = 0\nrun.max_concurrency = 2_000_000\n[limits]\nqueue = -5\nage_turn = 1.5\n\
         resources.gpu = 1_000_000_001\nbreaker.cool_down_seconds = 0\n[budgets]\nday.usd = 0\nrun.tokens = -1\n",
    );
    assert_snapshot!(said, @r"
    error: convoke.toml:1: `machine_concurrency`: expected a whole number from 1 to 1000000, found 0
    error: convoke.toml:2: `run.max_concurrency`: expected a whole number from 1 to 1000000, found 2000000
    error: convoke.toml:4: `limits.queue`: expected a whole number from 1 to 1000000000, found -5
    error: convoke.toml:5: `limits.age_turn`: expected a whole number from 1 to 1000000, found 1.5
    error: convoke.toml:6: `limits.resources.gpu`: expected a whole number from 1 to 1000000000, found 1000000001
    error: convoke.toml:7: `limits.breaker.cool_down_seconds`: expected a whole number from 1 to 86400, found 0
    error: convoke.toml:9: `budgets.day.usd`: expected dollars, from 0.000001 to 1000000000, found 0
    error: convoke.toml:10: `budgets.run.tokens`: expected a whole number from 1 to 1000000000000000, found -1
    ");
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_or_with_what_is_known() {
    let said = refused(
        "colour = 'never'\n[limits.models.openai]\nconcurency = 4\n[limits.gpus]\ncount = 1\n[budgets.week]\nusd = 1\n",
    );
    assert_snapshot!(said, @r"
    error: convoke.toml:1: unknown key `colour`; did you mean `color`?
    error: convoke.toml:3: unknown key `limits.models.openai.concurency`; did you mean `limits.models.openai.concurrency`?
    error: convoke.toml:4: unknown key `limits.gpus`; known here: models, tenants, resources, orchestrations, queue, age_turn, max_wait_seconds, breaker
    error: convoke.toml:6: unknown key `budgets.week`; known here: day, run, tenants
    ");
}

#[test]
fn limits_that_contradict_each_other_are_refused_with_both_places() {
    let said = refused(
        "machine_concurrency = 8\nrun.max_concurrency = 9\n\
         [limits.models.openai]\nconcurrency = 4\ntokens_per_minute = 4000\n\
         [limits.models.'openai/gpt-5.2']\nconcurrency = 5\n\
         [limits.models.'openai/GPT-5.2']\nconcurrency = 3\n\
         [budgets.day]\nusd = 1.5\ndegrade_to = 'gpt-5-mini'\n\
         [budgets.run]\nusd = 2\nwhen_spent = 'degrade'\n",
    );
    assert_snapshot!(said, @r#"
    error: convoke.toml:2: `run.max_concurrency`: 9 is more than `machine_concurrency` allows, which is 8 (convoke.toml:1)
    error: convoke.toml:5: `limits.models.openai.tokens_per_minute`: no call would ever start: each reserves 4096 tokens for its answer
    error: convoke.toml:7: `limits.models.openai/gpt-5.2.concurrency`: `openai/gpt-5.2` and `openai/GPT-5.2` are the same model twice
    error: convoke.toml:7: `limits.models.openai/gpt-5.2.concurrency`: 5 is more than `limits.models.openai.concurrency` allows, which is 4 (convoke.toml:4)
    error: convoke.toml:14: `budgets.run.usd`: 2 is more than `budgets.day.usd` allows, which is 1.5 (convoke.toml:11)
    error: convoke.toml:15: `budgets.run.when_spent`: `degrade` needs a model in `budgets.run.degrade_to`
    error: convoke.toml:12: `budgets.day.degrade_to`: of use only with `budgets.day.when_spent = "degrade"`
    "#);
}

#[test]
fn contradictions_are_named_beside_other_faults_and_not_because_of_them() {
    let said = refused(
        "machine_concurrency = 4\nrun.max_concurrency = 9\n[limits]\nqueue = -5\n\
         [budgets.day]\nusd = -1\nwhen_spent = 'ask'\n[budgets.run]\nmode = 'audit'\n",
    );
    assert_snapshot!(said, @r"
    error: convoke.toml:4: `limits.queue`: expected a whole number from 1 to 1000000000, found -5
    error: convoke.toml:6: `budgets.day.usd`: expected dollars, from 0.000001 to 1000000000, found -1
    error: convoke.toml:2: `run.max_concurrency`: 9 is more than `machine_concurrency` allows, which is 4 (convoke.toml:1)
    error: convoke.toml:9: `budgets.run.mode`: a budget needs `budgets.run.usd` or `budgets.run.tokens`
    ");
}

#[test]
fn the_environment_is_held_to_the_same_rules() {
    let world = World::with(SMALL);
    for wrong in ["0", "-1", "many", "99999999999999999999", "1000001"] {
        let mut command = world.command(&["run", "w.yaml"]);
        let output = command.env("CONVOKE_MACHINE_CONCURRENCY", wrong).output().expect("the program runs");
        let said = world.said(output);
        assert_eq!(said.code, 2, "{wrong}: {}", said.stderr);
        let words =
            "error: environment variable CONVOKE_MACHINE_CONCURRENCY: `machine_concurrency`: expected";
        assert!(said.stderr.starts_with(words), "{wrong}: {}", said.stderr);
    }
}

#[test]
fn limits_of_different_files_hold_side_by_side() {
    let world = World::with(SMALL);
    world.write("convoke.toml", "[run]\nmax_concurrency = 9\n");
    world.write("owner.toml", "machine_concurrency = 8\n");
    let mut command = world.command(&["-s", "run", "w.yaml"]);
    let said = world.said(command.env("CONVOKE_CONFIG", "owner.toml").output().expect("the program runs"));
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
}

const TRAINING: &str = "\
workflow:
  name: training
  entry_point: fan
  limits: {budget_usd: 3, budget_tokens: 9000, budget_mode: enforce, when_spent: degrade, degrade_to: small}
  cost: {pricing: {small: {input_per_mtok: 0, output_per_mtok: 1}}}
parallel:
  - {name: fan, agents: [train, count], budget: {tokens: 5000, when_spent: ask}}
agents:
  - {name: train, prompt: x, provider: scripted, budget: {usd: 0.5}, resources: {gpu: 2, disk: 1}}
  - {name: count, type: script, command: echo, resources: {disk: 1}}
";

#[test]
fn a_plan_shows_what_may_be_spent_and_what_is_needed() {
    let said = World::with(TRAINING).run(&["plan", "w.yaml"]);
    assert_snapshot!(said.stdout, @r"
    training (w.yaml)
      level 1
        train                        agent       in fan  budget $0.50 (then stop)  uses 1 disk, 2 gpu
        count                        script      in fan  uses 1 disk
      critical path: train
      parallelism: 2.00 (2 steps, longest chain 1)
      budget of fan: 5000 tokens (then ask)
      limits: 10 visits of a step, 100000 tasks, $3.00 and 9000 tokens (then small)
    at most 60 attempts at once
    ");
    let json = World::with(TRAINING).run(&["plan", "w.yaml", "--format", "json"]).stdout;
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    let train = &plan["workflows"][0]["nodes"].as_array().unwrap()[0];
    assert_eq!(train["resources"], serde_json::json!({"gpu": 2, "disk": 1}));
    assert_eq!(train["budget"]["micros"], 500_000);
    assert_eq!(plan["workflows"][0]["limits"]["budget"]["tokens"], 9000);
}

#[test]
fn a_resource_that_nobody_counts_is_refused_before_the_run_starts() {
    let world = World::with(TRAINING);
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @r"
    error: w.yaml:9: step `train` needs `gpu`, and no configuration says how much of it there is
    hint: say it in convoke.toml: limits.resources.gpu = N
    ");
    world.write("convoke.toml", "[limits.resources]\ngpus = 4\ndisk = 1\n");
    assert_snapshot!(world.run(&["run", "w.yaml"]).stderr, @r"
    error: w.yaml:9: step `train` needs `gpu`, and no configuration says how much of it there is
    hint: did you mean `gpus`?
    hint: say it in convoke.toml: limits.resources.gpu = N
    ");
    world.write("convoke.toml", "[limits.resources]\ngpu = 1\ndisk = 1\n");
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!(said.code, 3);
    assert_snapshot!(said.stderr, @r"
    error: w.yaml:9: step `train` needs 2 of `gpu`, and there will never be more than 1
    hint: limits.resources.gpu = 1 is said in convoke.toml:2
    ");
    assert!(!world.state().join("runs").exists(), "nothing was started");
}

#[test]
fn a_run_that_others_may_take_part_in_says_so() {
    let world = World::with(SMALL);
    assert_eq!(world.run(&["run", "w.yaml", "--share"]).code, 0);
    let said = world.run(&["show", &world.newest(), "--format", "json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(shown["metadata"]["share"], true);
}

/// Every block of configuration on the page is one that is taken, by itself.
#[test]
fn the_examples_of_the_page_on_capacity_are_taken() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/capacity.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    // The rest of the first line is the block's title.
    let blocks: Vec<_> = page
        .split("```toml")
        .skip(1)
        .filter_map(|rest| rest.split("```").next()?.split_once('\n'))
        .map(|(_, block)| block)
        .collect();
    assert!(blocks.len() >= 4, "{blocks:?}");
    for block in blocks {
        let world = World::with(SMALL);
        world.write("convoke.toml", block);
        let said = world.run(&["config", "show"]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{block}");
    }
}

#[test]
fn a_file_that_asks_for_more_than_the_machine_allows_is_told_which_limit_binds() {
    let world =
        World::with(&SMALL.replace("entry_point: one", "entry_point: one, limits: {max_concurrency: 400}"));
    for args in [&["run", "w.yaml"][..], &["run", "w.yaml", "--dry-run"], &["plan", "w.yaml"]] {
        let said = world.run(args);
        let all = format!("{}{}", said.stdout, said.stderr);
        let words = "the file asks for 400 attempts at once, and `machine_concurrency` (default) allows 60";
        assert!(said.code == 0 && all.contains(words), "{args:?}\n{all}");
        assert!(all.contains("--max-concurrency 400"), "how to raise it\n{all}");
        let told = all.contains("100000 tasks, 60 at once") || args == ["run", "w.yaml"];
        assert!(told && !all.contains("400 at once"), "{args:?}: the number that holds\n{all}");
    }
    let plan = world.run(&["plan", "w.yaml"]).stdout;
    assert!(plan.contains("at most 60 attempts at once"), "{plan}");
    let raised =
        world.command(&["plan", "w.yaml"]).env("CONVOKE_MACHINE_CONCURRENCY", "500").output().unwrap();
    let raised = world.said(raised);
    assert!(
        raised.stdout.contains("at most 400 attempts at once") && !raised.stdout.contains("asks for"),
        "{raised:?}"
    );
    let raised = world.run(&["run", "w.yaml", "--max-concurrency", "400", "--dry-run"]);
    assert!(
        raised.stderr.contains("at most 400 attempts at once") && !raised.stderr.contains("asks for"),
        "{raised:?}"
    );
}

/// A manifest of a dozen agents.
fn dozen(head: &str) -> String {
    let agents: String = (0..12).map(|number| format!("  - {{id: a{number}, task: Report}}\n")).collect();
    format!("name: dozen\nquery: How are we?\n{head}agents:\n{agents}")
}

#[test]
fn what_manifests_say_nothing_about_is_configured_and_a_manifest_goes_over_it() {
    let world = World::with(&dozen(""));
    world.write("stated.yaml", dozen("max_concurrency: 7\nsynthesis: hierarchical\n"));
    let set = |file: &str, args: &[&str]| {
        let variables =
            [("MAX_PARALLEL_AGENTS", "5"), ("SYNTHESIS_STRATEGY", "flat"), ("SYNTHESIS_RATIO", "4")];
        let output = world.command(&[args, &[file]].concat()).envs(variables).output().unwrap();
        world.said(output)
    };
    assert!(set("w.yaml", &["plan"]).stdout.contains("at most 5 attempts at once"));
    assert!(set("stated.yaml", &["plan"]).stdout.contains("at most 7 attempts at once"));
    let strategy = |file: &str| {
        let said = set(file, &["run", "-p", "scripted"]);
        let output: serde_json::Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
        output["strategy"].as_str().unwrap().to_owned()
    };
    assert_eq!((strategy("w.yaml").as_str(), strategy("stated.yaml").as_str()), ("flat", "hierarchical"));
    let said = world.said(world.command(&["plan", "w.yaml"]).env("SYNTHESIS_RATIO", "1").output().unwrap());
    assert_eq!(said.code, 2);
    assert_snapshot!(said.stderr, @"error: environment variable SYNTHESIS_RATIO: `manifests.synthesis.ratio`: expected a whole number from 2 to 100, found 1");
}

#[test]
fn a_goal_has_a_bound_on_its_time_and_on_its_sub_agents() {
    let world = World::new();
    let said = world.run(&["goal", "Do it", "--timeout", "10m", "--max-subagents", "2", "--print-workflow"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    for words in ["timeout_seconds: 600", "max_subagents: 2"] {
        assert!(said.stdout.contains(words), "no {words} in\n{}", said.stdout);
    }
    world.write("convoke.toml", "goal = {timeout_seconds = 90, max_subagents = 3}\n");
    let configured = world.run(&["goal", "Do it", "--print-workflow"]).stdout;
    assert!(
        configured.contains("timeout_seconds: 90") && configured.contains("max_subagents: 3"),
        "{configured}"
    );
    assert_eq!(world.run(&["goal", "Do it", "--timeout", "soon", "--print-workflow"]).code, 2);
}

/// What is counted before the start is counted wherever it is asked about.
#[test]
fn inputs_that_are_too_many_are_refused_by_every_command_that_knows_them() {
    let world = World::with(
        "workflow: {name: wide, entry_point: each, input: {n: {type: array}}, limits: {max_iterations: 3}}
for_each: [{name: each, type: for_each, source: workflow.input.n, as: it, agent: {name: one, type: set, value: '{{ it }}'}}]
agents: []
",
    );
    let commands: [&[&str]; 3] = [&["check", "w.yaml"], &["run", "w.yaml", "--dry-run"], &["run", "w.yaml"]];
    for command in commands {
        let with = |list: &'static str| world.run(&[command, &["-i", list]].concat());
        let Said { stderr, code, .. } = with("n=[1,2,3,4,5]");
        assert_eq!(code, 4, "{command:?}: {stderr}");
        assert!(stderr.contains("needs at least 5 iterations, and its limit is 3"), "{command:?}: {stderr}");
        assert!(stderr.contains("raise `limits.max_iterations` to at least 5"), "{command:?}: {stderr}");
        assert_eq!(with("n=[1,2,3]").code, 0, "{command:?}");
    }
    assert_eq!(world.run(&["check", "w.yaml"]).code, 0, "without inputs none are counted");
}
