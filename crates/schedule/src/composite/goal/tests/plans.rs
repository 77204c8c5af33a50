//! Which plans are taken.

use super::play::{Play, draft, goal, tasks};
use crate::composite::goal::routing::decision::Act;
use crate::composite::goal::routing::route::route;
use convoke_model::Role;
use convoke_plan::Goal;
use convoke_plan::goal_plan::Proposal;

#[test]
fn a_plan_is_refused_once_and_then_the_goal_is_abandoned() {
    let mut play = Play::new(goal());
    play.settle();
    let round = || tasks(vec![draft("a", &["b"]), draft("b", &["a"])]);
    let again = play.say("g", round());
    assert!(
        matches!(&again[0].act, Act::Ask { role: Role::Plan, note: Some(note) } if note.contains("circle"))
    );
    play.say("g", round());
    assert_eq!(play.ended.unwrap().unwrap_err().reason.as_deref(), Some("plan_refused"));
}

#[test]
fn a_persons_plan_that_cannot_be_used_comes_back_with_what_is_wrong() {
    let play = Play::new(Goal { approve: true, ..goal() });
    let mut state = play.state();
    state.unattended = false;
    state.given = Some(Ok(Proposal { tasks: vec![draft("a", &[])], complete: true }));
    let [first] = &route(&state)[..] else { panic!("one decision") };
    assert!(matches!(&first.act, Act::Approve { plan, .. } if plan.contains("do a")), "{first:?}");
    let changed = "# mine\n- {description: x, inputs: [nothing]}";
    state.approved = Some(Proposal::read_text(changed));
    state.approved_text = Some(changed.to_owned());
    let [again] = &route(&state)[..] else { panic!("one decision") };
    let Act::Approve { prompt, plan } = &again.act else { panic!("{again:?}") };
    assert!(prompt.contains("needs `nothing`"), "{prompt}");
    assert_eq!(plan, changed, "the plan that is wrong, not the one before it");
    state.approved = Some(Proposal::read_text("- description: x"));
    let [taken] = &route(&state)[..] else { panic!("one decision") };
    assert!(matches!(&taken.act, Act::Add(items) if items.len() == 1), "{taken:?}");
}
