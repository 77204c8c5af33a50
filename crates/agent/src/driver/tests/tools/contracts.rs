//! Attempts under a contract: what it says is what holds, and nothing else is asked.

use super::*;
use convoke_model::{Contract, Fallback, Validator, Violation};

fn contract(allowed: Option<&[&str]>, banned: &[&str]) -> Option<Box<Contract>> {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    Some(Box::new(Contract {
        phase: "write".into(),
        model: "m".into(),
        allowed_tools: allowed.map(words),
        banned_tools: words(banned),
        ..Contract::default()
    }))
}

#[tokio::test]
async fn what_a_contract_bans_is_neither_offered_nor_called() {
    let mut scene = Scene::new([wants(&[("s__act", "{}"), ("s__look", "{}")]), answers("done")]);
    scene.assignment.contract = contract(Some(&["LOOK", "act", "s__lost"]), &["S__ACT"]);
    finished(scene.run().await);
    assert_eq!(scene.model.asked.lock().unwrap()[0].1, ["s__look", "s__lost"]);
    assert_eq!(scene.called(), ["look"]);
    assert_eq!(scene.texts(1)[1], "the tool `s__act` may not be used here; the tools are s__look, s__lost");
}

/// What a worker of persona `coder` comes to that calls these tools.
async fn coder(allowed: Option<&[&str]>, banned: &[&str], calls: &[(&str, &str)]) -> (Scene, AttemptEnd) {
    let mut scene = Scene::new([wants(calls), answers("done")]);
    let contract =
        contract(allowed, banned).map(|contract| Contract { persona: Some("coder".into()), ..*contract });
    scene.assignment.contract = contract.map(Box::new);
    let end = scene.run().await;
    (scene, end)
}

#[tokio::test]
async fn a_call_of_a_tool_that_a_persona_may_not_use_ends_the_attempt_before_any_call() {
    /// What is allowed, what is banned, and what is called.
    type Case = (Option<&'static [&'static str]>, &'static [&'static str], &'static str);
    let cases: [Case; 4] = [
        (None, &["S__ACT"], "s__act"),
        (Some(&["look"]), &[], "s__act"),
        (Some(&[]), &[], "s__act"),
        (None, &["act"], "Act"),
    ];
    for (allowed, banned, name) in cases {
        let (scene, end) = coder(allowed, banned, &[(name, "{}"), ("s__look", "{}")]).await;
        let AttemptEnd::Failed { failure, .. } = end else { panic!("{end:?}") };
        let said = "persona `coder` called the tool `s__act`, which it may not use";
        assert_eq!((failure.class, failure.reason.as_deref()), (Class::Security, Some("tool_not_allowed")));
        assert_eq!(failure.message, format!("step `a`: {said}"));
        assert_eq!(scene.engine.noted("security_violation"), [said]);
        assert_eq!(scene.called(), [""; 0], "nothing of the turn is done");
    }
}

#[tokio::test]
async fn the_full_name_of_a_banned_tool_means_that_tool_also_where_it_is_nearly_another_ones() {
    let mut scene = Scene::new([wants(&[("s__act", "{}")]), answers("done")]);
    scene.bench = Arc::new(Bench { more: vec!["s__act"], ..Bench::default() });
    let agreed = *contract(None, &["act"]).unwrap();
    scene.assignment.contract = Some(Box::new(Contract { persona: Some("coder".into()), ..agreed }));
    let AttemptEnd::Failed { failure, .. } = scene.run().await else { panic!("not failed") };
    assert_eq!(failure.reason.as_deref(), Some("tool_not_allowed"));
    assert!(scene.model.asked.lock().unwrap()[0].1.contains(&"s__s__act".to_owned()), "the other is offered");
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_a_mistake_that_a_persona_can_correct() {
    for name in ["nope", "LOOK", "*"] {
        let (scene, end) = coder(None, &["act", "nope"], &[(name, "{}")]).await;
        assert_eq!(finished(end), "done", "{name}");
        assert!(scene.texts(1)[1].starts_with("there is no tool"), "{name}");
    }
}

#[tokio::test]
async fn what_a_coding_agent_tells_of_its_own_tools_is_held_against_its_bans() {
    let told = |failed: bool| Report::ToolCalled { tool: "Bash".into(), ms: 1, failed };
    for (failed, expected) in [(false, Some(Class::Security)), (true, None)] {
        let (engine, contract) = (FakeEngine::default(), contract(None, &["bash"]).unwrap());
        let contract = Contract { persona: Some("coder".into()), ..*contract };
        let heard = crate::ask::Heard::new(&engine, Some(&contract));
        heard.report(told(failed));
        assert_eq!(heard.take_barred().map(|failure| failure.class), expected);
    }
}

#[tokio::test]
async fn what_is_offered_is_what_the_contract_says_and_nothing_else_is_asked() {
    let mut scene = Scene::new([answers("done")]);
    scene.settings(|settings| settings.tools = Some(vec!["LOOK".into(), "web".into()]));
    scene.assignment.contract = contract(Some(&["LOOK", "web"]), &[]);
    finished(scene.run().await);
    assert_eq!(scene.model.asked.lock().unwrap()[0].1, ["s__look"]);
    assert_eq!(scene.engine.noted("tool_missing"), ["step `a`: no server has a tool `web`"]);
    let mut none = Scene::new([answers("done")]);
    none.assignment.contract = contract(Some(&[]), &[]);
    finished(none.run().await);
    assert_eq!(none.bench.lists.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn tools_are_settled_by_their_names_before_the_first_call() {
    let mut scene = Scene::new([answers("done")]);
    // What the call itself says about tools is no right.
    scene.settings(|settings| settings.tools = Some(vec!["slow".into()]));
    scene.assignment.contract = contract(Some(&["l*", "S__ACT"]), &["lost"]);
    finished(scene.run().await);
    assert_eq!(*scene.engine.settled.lock().unwrap(), [["s__act", "s__long", "s__look"]]);
    assert_eq!(scene.model.asked.lock().unwrap()[0].1, ["s__look", "s__act", "s__long"]);
    let mut full = Scene::new([answers("done")]);
    full.engine.is_full = true;
    full.assignment.contract = contract(None, &[]);
    let AttemptEnd::Failed { failure, .. } = full.run().await else { panic!("not failed") };
    assert_eq!(failure.message, "step `a`: the disk is full");
    assert_eq!(full.model.asked.lock().unwrap().len(), 0, "nobody was asked");
}

#[tokio::test]
async fn where_nothing_is_to_be_settled_nothing_is_written_down() {
    let mut nothing = Scene::new([answers("done")]);
    nothing.settings(|settings| settings.servers = Arc::default());
    let mut unbound = Scene::new([answers("done")]);
    unbound.assignment.contract = None;
    nothing.assignment.contract = contract(Some(&[]), &[]);
    for scene in [nothing, unbound] {
        finished(scene.run().await);
        assert_eq!(scene.engine.settled.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn tools_that_come_later_are_not_there_for_the_attempt() {
    for violation in [Violation::HardAbort, Violation::Reported] {
        let mut scene =
            Scene::new([wants(&[("s__look", "{}")]), wants(&[("s__late", "{}")]), answers("done")]);
        let agreed = *contract(None, &[]).unwrap();
        scene.assignment.contract =
            Some(Box::new(Contract { persona: Some("coder".into()), violation, ..agreed }));
        assert_eq!(finished(scene.run().await), "done");
        assert_eq!((scene.called().len(), scene.bench.lists.load(Ordering::SeqCst)), (1, 1));
        let tools = scene.model.asked.lock().unwrap()[2].1.clone();
        assert!(!tools.contains(&"s__late".to_owned()));
        assert!(scene.texts(2).last().unwrap().starts_with("there is no tool `s__late`"));
    }
    let mut next = Scene::new([wants(&[("s__late", "{}")]), answers("done")]);
    next.bench = Arc::new(Bench { more: vec!["late"], ..Bench::default() });
    next.assignment.contract = contract(None, &[]);
    finished(next.run().await);
    assert_eq!(next.called(), ["late"], "another attempt settles anew");
}

#[tokio::test]
async fn where_a_contract_has_it_told_the_model_is_told_and_goes_on() {
    let mut scene = Scene::new([wants(&[("s__act", "{}"), ("s__look", "{}")]), answers("done")]);
    let agreed = *contract(Some(&["look"]), &[]).unwrap();
    let (persona, violation) = (Some("execute".into()), Violation::Reported);
    scene.assignment.contract = Some(Box::new(Contract { persona, violation, ..agreed }));
    assert_eq!(finished(scene.run().await), "done");
    assert_eq!(scene.texts(1)[1], "the tool `s__act` may not be used here; the tools are s__look");
    assert_eq!(scene.called(), ["look"]);
    let noted = "the tool `s__act` was called and not used: the contract does not admit it";
    assert_eq!(scene.engine.noted("tool_refused"), [noted]);
    assert_eq!(scene.engine.noted("security_violation"), [""; 0]);
}

#[tokio::test]
async fn tools_that_are_only_named_are_nobodys_right() {
    let mut scene = Scene::new([wants(&[("s__act", "{}")]), answers("done")]);
    scene.settings(|settings| settings.show_tools = true);
    let agreed = *contract(Some(&[]), &[]).unwrap();
    scene.assignment.contract =
        Some(Box::new(Contract { tools_settled: true, violation: Violation::Reported, ..agreed }));
    assert_eq!(finished(scene.run().await), "done");
    let asked = scene.model.asked.lock().unwrap();
    assert!(asked[0].0[0].text.contains("- s__act"), "{:?}", asked[0].0[0].text);
    assert_eq!(asked[0].1, [""; 0]);
    assert_eq!((scene.called().len(), scene.engine.settled.lock().unwrap().len()), (0, 0));
}

#[tokio::test]
async fn the_rounds_of_tool_calls_are_the_contracts() {
    for (agreed, stated, most) in [(Some(1), 9, 1), (Some(3), 1, 3), (None, 2, 2)] {
        let rounds = std::iter::repeat_with(|| wants(&[("s__look", "{}")])).take(9);
        let mut scene = Scene::new(rounds);
        scene.settings(|settings| {
            settings.capabilities.max_iterations = stated;
            settings.capabilities.stuck_loop = None;
        });
        let contract = *contract(None, &[]).unwrap();
        scene.assignment.contract = Some(Box::new(Contract { max_iterations: agreed, ..contract }));
        let AttemptEnd::Failed { failure, .. } = scene.run().await else { panic!("not failed") };
        assert_eq!(failure.reason.as_deref(), Some("max_agent_iterations"));
        assert_eq!(scene.called().len(), most, "{agreed:?}, {stated}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_never_longer_than_its_contract() {
    for (agreed, stated, most) in [(Some(2_000), 9, 2), (Some(9_000), 3, 3), (None, 4, 4)] {
        let mut scene = Scene::new([wants(&[("s__slow", "{}")])]);
        scene.settings(|settings| settings.session_timeout = Some(Duration::from_secs(stated)));
        let contract = *contract(None, &[]).unwrap();
        scene.assignment.contract = Some(Box::new(Contract { timeout_ms: agreed, ..contract }));
        let begun = tokio::time::Instant::now();
        let AttemptEnd::Failed { failure, .. } = scene.run().await else { panic!("not failed") };
        assert_eq!((failure.class, begun.elapsed().as_secs()), (Class::Timeout, most));
    }
}

#[tokio::test]
async fn a_model_that_the_contract_does_not_name_is_never_asked() {
    let limited = || Err(Failure::new(Class::RateLimit, "too many"));
    let mut scene = Scene::new([limited(), answers("done")]);
    scene.settings(|settings| {
        settings.fallback = Some(Fallback { models: vec!["other".into()], attempts: 1 });
    });
    scene.assignment.contract = contract(Some(&[]), &[]);
    assert!(matches!(scene.run().await, AttemptEnd::Failed { .. }));
    assert_eq!(scene.engine.calls.lock().unwrap().len(), 1, "`other` is not in it");
    let mut graded = Scene::new([answers("done"), answers("{\"passed\": true}")]);
    graded.settings(|settings| {
        let (criteria, model) = ("good".to_owned(), Some("judge".to_owned()));
        settings.validator = Some(Validator { criteria, model, max_retries: 0 });
    });
    let agreed = *contract(Some(&[]), &[]).unwrap();
    graded.assignment.contract = Some(Box::new(agreed.clone()));
    graded.run().await;
    assert_eq!(graded.engine.calls.lock().unwrap().len(), 1, "nor is `judge`");
    let named = Contract { helper_models: vec!["judge".into()], ..agreed };
    let mut graded =
        Scene { model: Scene::new([answers("done"), answers("{\"passed\": true}")]).model, ..graded };
    graded.engine = FakeEngine::default();
    graded.assignment.contract = Some(Box::new(named));
    assert_eq!(finished(graded.run().await), "done");
    assert_eq!(graded.engine.calls.lock().unwrap()[1].0, "judge");
}
