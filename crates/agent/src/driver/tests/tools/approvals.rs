//! Calls that a person must allow: asked about before any call of the turn is made, bound by hash, made once.

use super::*;
use convoke_model::{
    ApprovalLevel, Approvals, AskedCall, Contract, Digest, EffectClaim, KnownResult, Verdict, ruled_alike,
};

/// A scene whose tools are risky, and of which only the server's word is known: `tidy` is destructive by its hint, `delete_all` by
/// its name, and both say that they only read and may be repeated.
fn risky(replies: impl IntoIterator<Item = Result<Reply, Failure>>) -> Scene {
    let bench = Bench { more: vec!["tidy", "delete_all"], ..Bench::default() };
    Scene { bench: Arc::new(bench), ..Scene::new(replies) }
}

fn reviewing(replies: impl IntoIterator<Item = Result<Reply, Failure>>, review: Review) -> Scene {
    let bench = Bench { more: vec!["tidy", "delete_all"], review, ..Bench::default() };
    Scene { bench: Arc::new(bench), ..Scene::new(replies) }
}

/// The question of a suspended attempt, and the pieces of its conversation.
async fn suspended(scene: &Scene) -> (Vec<AskedCall>, String, Vec<JsonText>) {
    let end = scene.run().await;
    let AttemptEnd::Suspended { state, waits_for: WaitsFor::Gate(ask), .. } = end else {
        panic!("not suspended: {end:?}")
    };
    let Ask::Approval { prompt, calls, .. } = serde_json::from_str(ask.as_str()).unwrap() else {
        panic!("it asks something else")
    };
    let mut pieces = scene.engine.pieces();
    pieces.push(state);
    (calls, prompt, pieces)
}

/// The attempt that goes on with an answer.
fn going_on(mut scene: Scene, pieces: &[JsonText], answer: Option<Answer>) -> Scene {
    scene.assignment.continues = pieces.to_vec();
    scene.assignment.answer = answer;
    scene
}

fn claimed(scene: &Scene) -> Vec<EffectClaim> {
    scene.engine.records.lock().unwrap().iter().flat_map(|record| record.claimed.clone()).collect()
}

#[tokio::test]
async fn no_call_of_the_turn_is_made_before_a_person_allowed_all_that_need_it() {
    let calls = [("s__look", "{}"), ("s__tidy", "{\"b\":1,\"a\":\"\\u202e\"}"), ("s__delete_all", "{}")];
    let first = risky([wants(&calls)]);
    let (asked, prompt, pieces) = suspended(&first).await;
    assert!(first.called().is_empty() && claimed(&first).is_empty());
    assert!(prompt.contains("wants to make 2 calls") && prompt.contains("It was asked:\n"), "{prompt}");
    assert_eq!(
        asked.iter().map(|call| (&*call.id, &*call.tool)).collect::<Vec<_>>(),
        [("1", "s__tidy"), ("2", "s__delete_all")]
    );
    assert_eq!(asked[0].arguments, "{\"a\":\"\\u202e\",\"b\":1}");
    assert_eq!(asked[0].server, "s (http://localhost)");
    assert!(asked[0].reasons[0].contains("may destroy") && asked[1].reasons[0].contains("by its name"));

    let answer = Answer::Approval {
        rulings: [
            ("1".to_owned(), asked[0].ruled(Verdict::Approve, None)),
            ("2".to_owned(), asked[1].ruled(Verdict::Deny, Some("never that".into()))),
        ]
        .into(),
    };
    let second = going_on(risky([answers("done")]), &pieces, Some(answer));
    assert_eq!(finished(second.run().await), "done");
    assert_eq!(second.called(), ["look", "tidy"]);
    let texts = second.texts(0);
    assert_eq!(texts[2], "tidy {\"a\":\"\\u202e\",\"b\":1}", "made as it was read");
    assert_eq!(texts[3], "This call was not made: a person refused it: never that.");
    let claims: Vec<String> = claimed(&second).into_iter().map(|claim| claim.what).collect();
    assert_eq!(claims, ["s__tidy"], "what was asked about is an effect, whatever its server says");
}

#[tokio::test]
async fn an_allowed_call_is_never_made_twice_though_its_server_says_it_may_be() {
    let first = risky([wants(&[("s__tidy", "{}")])]);
    let (asked, _, mut pieces) = suspended(&first).await;
    let yes = Some(ruled_alike(&asked, Verdict::Approve, None));
    // Cut off before anything of it was on disk: it goes on with the same answer.
    let second = going_on(risky([Err(Failure::new(Class::Transient, "cut"))]), &pieces, yes);
    assert!(matches!(second.run().await, AttemptEnd::Failed { .. }));
    assert_eq!(second.called(), ["tidy"]);
    // Cut off after its claim was on disk: nobody knows whether it was made.
    pieces.push(second.engine.pieces()[0].clone());
    let third = going_on(risky([answers("done")]), &pieces, None);
    assert_eq!(finished(third.run().await), "done");
    assert!(third.called().is_empty() && claimed(&third).is_empty());
    assert!(third.texts(0)[1].contains("is unknown"), "{:?}", third.texts(0));
    // With its result on disk the model is told that.
    let pieces = [&pieces[..], &second.engine.pieces()[1..]].concat();
    let fourth = going_on(risky([answers("done")]), &pieces, None);
    assert_eq!(finished(fourth.run().await), "done");
    assert_eq!((fourth.called().len(), fourth.texts(0)[1].as_str()), (0, "tidy {}"));
}

#[tokio::test]
async fn a_known_result_of_an_allowed_call_is_used_and_the_other_one_is_unknown() {
    let first = risky([wants(&[("s__tidy", "{}"), ("s__delete_all", "{}")])]);
    let (asked, _, mut pieces) = suspended(&first).await;
    let yes = Some(ruled_alike(&asked, Verdict::Approve, None));
    let second = going_on(risky([answers("done")]), &pieces, yes);
    finished(second.run().await);
    let told: Vec<_> = second
        .engine
        .reports
        .lock()
        .unwrap()
        .iter()
        .filter_map(|report| match report {
            Report::EffectCommitted(commit) => Some(commit.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2);
    pieces.push(second.engine.pieces()[0].clone());
    let mut third = going_on(risky([answers("done")]), &pieces, None);
    third.assignment.known_results =
        vec![KnownResult { key: told[1].key.clone(), result: told[1].result.clone().unwrap() }];
    finished(third.run().await);
    assert!(third.called().is_empty());
    let texts = third.texts(0);
    assert!(texts[1].contains("is unknown") && texts[2] == "delete_all {}", "{texts:?}");
}

#[tokio::test]
async fn a_ruling_allows_one_call_once() {
    let first = risky([wants(&[("s__tidy", "{}")])]);
    let (asked, _, pieces) = suspended(&first).await;
    let yes = Some(ruled_alike(&asked, Verdict::Approve, None));
    let second = going_on(risky([wants(&[("s__tidy", "{}")])]), &pieces, yes);
    let (again, ..) = suspended(&second).await;
    assert_eq!(second.called(), ["tidy"]);
    assert_eq!(again[0].plan, asked[0].plan, "it does the same");
    assert_ne!(again[0].hash, asked[0].hash, "and is another call");
}

#[tokio::test]
async fn what_was_remembered_is_made_unasked_and_nothing_else_is() {
    let (asked, ..) = suspended(&risky([wants(&[("s__tidy", "{\"a\":1,\"b\":2}")])])).await;
    let mut scene =
        risky([wants(&[("s__tidy", "{\"b\": 2, \"a\": 1}")]), wants(&[("s__tidy", "{\"a\":2}")])]);
    scene.assignment.remembered = vec![asked[0].plan];
    let (other, ..) = suspended(&scene).await;
    assert_eq!(scene.called(), ["tidy"]);
    assert_ne!(other[0].plan, asked[0].plan);
    assert_eq!(scene.engine.noted("approval_remembered").len(), 1);
    assert_eq!(claimed(&scene).len(), 1, "it is on disk before it is made");
}

/// What became of an allowed call where the world has changed before it was made.
async fn changed(first: &Scene, second: Scene) -> (Vec<String>, String) {
    let (asked, _, pieces) = suspended(first).await;
    let second = going_on(second, &pieces, Some(ruled_alike(&asked, Verdict::Approve, None)));
    assert_eq!(finished(second.run().await), "done");
    (second.called(), second.texts(0)[1].clone())
}

#[tokio::test]
async fn a_call_that_has_changed_since_it_was_allowed_is_not_made() {
    let turn = || [wants(&[("s__tidy", "{}")]), answers("done")];
    let done = || [answers("done")];
    let review = |action: &str| Review::Ask { action: action.into(), reason: "the policy asks".into() };
    let (called, _) = changed(&risky(turn()), risky(done())).await;
    assert_eq!(called, ["tidy"], "nothing has changed");

    let bench = Bench { more: vec!["tidy"], description: "another tool", ..Bench::default() };
    let other_tool = Scene { bench: Arc::new(bench), ..Scene::new(done()) };
    let mut other_server = risky(done());
    other_server.settings(|settings| {
        let servers = Arc::make_mut(&mut settings.servers);
        servers["s"].transport = Transport::Http { url: "http://elsewhere".into(), headers: vec![] };
    });
    let mut other_folder = risky(done());
    let Work::Agent(call) = &mut other_folder.assignment.work else { unreachable!() };
    call.working_dir = Some("/elsewhere".into());
    let mut other_run = risky(done());
    other_run.assignment.key = "another run".into();
    for (first, second) in [
        (risky(turn()), other_tool),
        (risky(turn()), other_server),
        (risky(turn()), other_folder),
        (risky(turn()), other_run),
        (reviewing(turn(), review("rm a")), reviewing(done(), review("rm b"))),
        (reviewing(turn(), review("rm a")), risky(done())),
    ] {
        let (called, text) = changed(&first, second).await;
        assert!(called.is_empty() && text.contains("not the call that was allowed"), "{called:?} {text}");
    }
    let refused = Review::Deny { reason: "the policy has changed".into() };
    let (called, text) = changed(&risky(turn()), reviewing(done(), refused)).await;
    assert!(called.is_empty() && text.contains("the policy has changed"), "{text}");
}

#[tokio::test]
async fn an_answer_to_another_call_allows_nothing() {
    let first = risky([wants(&[("s__tidy", "{}")])]);
    let (asked, _, pieces) = suspended(&first).await;
    let other = AskedCall { hash: Digest::of(b"another"), ..asked[0].clone() };
    for answer in [ruled_alike(&[other], Verdict::Approve, None), Answer::Retry] {
        let second = going_on(risky([]), &pieces, Some(answer));
        let (again, ..) = suspended(&second).await;
        assert_eq!((again, second.called().len()), (asked.clone(), 0), "it is asked again");
    }
}

#[tokio::test]
async fn expiry_counts_as_a_refusal_and_says_so() {
    let first = risky([wants(&[("s__tidy", "{}")])]);
    let (asked, _, pieces) = suspended(&first).await;
    let second =
        going_on(risky([answers("done")]), &pieces, Some(ruled_alike(&asked, Verdict::Expired, None)));
    finished(second.run().await);
    assert!(second.called().is_empty());
    assert_eq!(
        second.texts(0)[1],
        "This call was not made: nobody allowed it in time, which counts as a refusal."
    );
}

#[tokio::test]
async fn a_tool_that_the_file_lists_by_name_is_called_unasked() {
    for tools in [vec!["s__delete_all", "tidy"], vec!["DELETE_ALL & s__*", "s.tidy"]] {
        let mut scene = risky([wants(&[("s__tidy", "{}"), ("s__delete_all", "{}")]), answers("done")]);
        scene.settings(|settings| settings.tools = Some(tools.iter().map(|tool| tool.to_string()).collect()));
        assert_eq!(finished(scene.run().await), "done");
        assert_eq!(scene.called(), ["tidy", "delete_all"]);
    }
    let mut of_server = risky([wants(&[("s__delete_all", "{}")]), answers("done")]);
    of_server.settings(|settings| {
        Arc::make_mut(&mut settings.servers)["s"].tools = Some(vec!["delete_all".into()]);
    });
    assert_eq!(finished(of_server.run().await), "done");
    for tools in [vec!["*"], vec!["s__*"], vec!["delete_*"]] {
        let mut scene = risky([wants(&[("s__delete_all", "{}")])]);
        scene.settings(|settings| settings.tools = Some(tools.iter().map(|tool| tool.to_string()).collect()));
        assert_eq!(suspended(&scene).await.0.len(), 1);
    }
    // What a model chose among the tools of the file is listed by the file alone.
    let mut chosen = risky([wants(&[("s__delete_all", "{}")])]);
    chosen.settings(|settings| {
        settings.tools = Some(vec!["s__delete_all".into()]);
        settings.approvals.listed = Some(vec!["s__*".into()]);
    });
    assert_eq!(suspended(&chosen).await.0.len(), 1);
}

#[tokio::test]
async fn a_settled_contract_lists_no_tool_by_name() {
    let mut scene = risky([wants(&[("s__delete_all", "{}")])]);
    scene.assignment.contract = Some(Box::new(Contract {
        allowed_tools: Some(vec!["s__delete_all".into()]),
        tools_settled: true,
        model: "m".into(),
        ..Contract::default()
    }));
    assert_eq!(suspended(&scene).await.0.len(), 1);
    *scene.assignment.contract.as_mut().unwrap().approvals = Approvals::of(ApprovalLevel::None);
    let made = risky([wants(&[("s__delete_all", "{}")]), answers("done")]);
    let made = Scene { assignment: scene.assignment, ..made };
    assert_eq!(finished(made.run().await), "done");
    assert_eq!(made.engine.noted("approval_waived").len(), 1, "what is switched off is journalled");
}

#[tokio::test]
async fn a_refused_call_is_a_failed_result_and_nobody_is_asked() {
    let scene = reviewing(
        [wants(&[("s__act", "{}")]), answers("done")],
        Review::Deny { reason: "outside of the root".into() },
    );
    assert_eq!(finished(scene.run().await), "done");
    assert!(scene.called().is_empty() && claimed(&scene).is_empty());
    assert_eq!(scene.texts(1)[1], "This call was not made: it is refused: outside of the root.");
    assert_eq!(scene.engine.noted("call_denied").len(), 1);
}

#[tokio::test]
async fn the_toolbox_asks_about_a_call_and_its_whole_action_is_shown() {
    let action = format!("rm -rf \u{1b}[2K{}", "x".repeat(100_000));
    let review = Review::Ask { action, reason: "the policy asks".into() };
    let mut scene = reviewing([wants(&[("s__act", "{}")])], review);
    scene.settings(|settings| settings.tools = Some(vec!["s__act".into()]));
    let (asked, ..) = suspended(&scene).await;
    let shown = asked[0].action.clone().unwrap();
    assert!(
        shown.starts_with("rm -rf \\u{1b}[2Kxxx") && shown.len() > 100_000,
        "listed by name, and asked about"
    );
}

#[tokio::test]
async fn a_person_is_not_asked_about_a_turn_that_breaks_the_contract() {
    let mut scene = risky([wants(&[("s__tidy", "{}"), ("s__act", "{}")])]);
    scene.assignment.contract = Some(Box::new(Contract {
        persona: Some("writer".into()),
        banned_tools: vec!["act".into()],
        model: "m".into(),
        ..Contract::default()
    }));
    let AttemptEnd::Failed { failure, .. } = scene.run().await else { panic!("it asked") };
    assert_eq!(failure.reason.as_deref(), Some("tool_not_allowed"));
}

#[tokio::test]
async fn rulings_are_gone_with_their_turn() {
    let first = risky([wants(&[("s__tidy", "{}")])]);
    let (asked, _, pieces) = suspended(&first).await;
    let yes = Some(ruled_alike(&asked, Verdict::Approve, None));
    let second = going_on(risky([wants(&[("s__act", "{}")]), answers("done")]), &pieces, yes);
    finished(second.run().await);
    let pieces = second.engine.pieces();
    assert!(pieces[0].as_str().contains("\"rulings\""), "on disk before the call is made");
    assert!(pieces[1..].iter().all(|piece| !piece.as_str().contains("\"rulings\"")));
}
