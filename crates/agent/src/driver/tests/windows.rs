//! A request fits the window of the model that gets it: the step's own, a grader, a repairer, a cheaper one.

use super::*;
use convoke_model::{SuccessCriteria, Validator};

/// A model whose window of 8 192 tokens is known; that of `m` is not.
const SMALL: &str = "gpt-4";
const SMALL_BYTES: usize = 8_192 * 4;

fn asking(prompt: usize, change: impl FnOnce(&mut AgentSettings)) -> Assignment {
    let mut assignment = agent(None);
    let Work::Agent(call) = &mut assignment.work else { panic!("an agent") };
    call.prompt = "p".repeat(prompt);
    change(Arc::make_mut(&mut call.settings));
    assignment
}

/// The models that were asked, after all requests to the small one were seen to fit.
fn models(model: &ScriptedModel) -> Vec<String> {
    let sizes = model.sizes.lock().unwrap().clone();
    for (model, bytes) in &sizes {
        assert!(model != SMALL || *bytes < SMALL_BYTES / 4 * 3, "{bytes} bytes leave no room for an answer");
    }
    sizes.into_iter().map(|(model, _)| model).collect()
}

#[tokio::test]
async fn judges_see_as_much_as_their_window_holds() {
    let long = format!("{{\"n\": 1, \"text\": \"{}\"}}", "é".repeat(40_000));
    let yes = || said("{\"passed\": true, \"issues\": []}");
    let (attempts, model) = attempts([said(&long), yes(), yes()]);
    let judged = asking(40_000, |settings| {
        let (criteria, model) = ("be good".to_owned(), Some(SMALL.to_owned()));
        settings.validator =
            Some(Validator { criteria: criteria.clone(), model: model.clone(), max_retries: 1 });
        settings.success_criteria = Some(SuccessCriteria { criteria, model, max_retries: 1 });
    });
    let end = run(&attempts, judged).await;
    assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
    assert_eq!(models(&model), ["m", SMALL, SMALL]);
    assert!(model.sizes.lock().unwrap()[1].1 > SMALL_BYTES / 2, "as much as fits is shown");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_repairer_goes_to_the_model_that_gave_it() {
    for (length, repairer) in [(100, SMALL), (40_000, "m")] {
        let (attempts, model) = attempts([said(&"prose ".repeat(length / 6)), said("{\"n\": 1}")]);
        let repaired = asking(10, |settings| {
            settings.parse_recovery = 0;
            settings.repair_model = Some(SMALL.to_owned());
        });
        let end = run(&attempts, repaired).await;
        assert!(matches!(end, AttemptEnd::Finished { .. }), "{end:?}");
        assert_eq!(models(&model), ["m", repairer]);
    }
}

/// A budget that can only pay the small model.
struct OnlySmall;

impl Admission for OnlySmall {
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        match call.model.as_str() {
            SMALL => Unlimited.admit(call),
            _ => Box::pin(std::future::ready(Ok(Admitted::Instead(SMALL.into())))),
        }
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}

#[tokio::test]
async fn a_cheaper_model_is_not_sent_what_it_cannot_take() {
    for (prompt, asked) in [(1_000, 1), (40_000, 0)] {
        let (attempts, model) = attempts([said("{\"n\": 1}")]);
        let link = Wired::new(&OnlySmall, &Silent);
        let end = attempts.attempt(asking(prompt, |_| ()), &link, CancellationToken::new()).await;
        assert_eq!(models(&model).len(), asked);
        if let AttemptEnd::Failed { failure, .. } = end {
            assert_eq!(failure.reason.as_deref(), Some("context_overflow"));
            assert!(failure.message.contains("window of model `gpt-4` is 8192"), "{failure}");
        }
    }
}
