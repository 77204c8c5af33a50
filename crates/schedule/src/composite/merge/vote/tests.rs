//! Single cases, and every kind of vote against a count that is as simple as it can be.

mod reference;

use super::*;

fn rule(method: VoteMethod, tie: Tie) -> Vote {
    let field = if method == VoteMethod::Ranked { "ranking" } else { "vote" };
    Vote { method, field: field.into(), options: Vec::new(), tie, quorum: 1 }
}

fn ballots(cast: &[Cast]) -> Vec<Ballot> {
    cast.iter()
        .enumerate()
        .map(|(ix, cast)| Ballot { member: format!("m{}", ix + 1), cast: cast.clone() })
        .collect()
}

fn votes_for(options: &[&str]) -> Vec<Cast> {
    options.iter().map(|option| Cast::For(vec![(*option).to_owned()])).collect()
}

#[test]
fn most_votes_win_and_dissent_is_named() {
    let count =
        count(&ballots(&votes_for(&["a", "b", "a", "a", "b"])), &rule(VoteMethod::Majority, Tie::Undecided));
    assert_eq!(count.winner.as_deref(), Some("a"));
    assert_eq!(count.report["tally"], json!({ "a": 3, "b": 2 }));
    assert_eq!(count.report["dissent"], json!(["m2", "m5"]));
}

#[test]
fn a_failing_member_and_an_abstention_cast_no_vote() {
    let mut cast = votes_for(&["a", "b", "a"]);
    cast.push(Cast::Abstained);
    cast.push(Cast::Failed("timed out".into()));
    let count = count(&ballots(&cast), &rule(VoteMethod::Threshold(0.66), Tie::Undecided));
    assert_eq!(count.winner.as_deref(), Some("a"), "two of three votes cast are 66 %");
    assert_eq!(count.report["cast"], json!(3));
    assert_eq!(count.report["abstained"], json!(["m4"]));
    assert_eq!(count.report["failed"], json!({ "m5": "timed out" }));
}

#[test]
fn upper_and_lower_case_are_the_same_vote() {
    let cast = ballots(&votes_for(&["Yes please", "yes please", "no", "YES PLEASE"]));
    let count = count(&cast, &rule(VoteMethod::Majority, Tie::Undecided));
    assert_eq!(count.winner.as_deref(), Some("Yes please"), "as it was said first");
    assert_eq!(count.report["tally"], json!({ "Yes please": 3, "no": 1 }));
    assert_eq!(count.report["dissent"], json!(["m3"]));
}

#[test]
fn a_tie_is_what_the_rule_says() {
    let cast = ballots(&votes_for(&["b", "a", "a", "b"]));
    let undecided = count(&cast, &rule(VoteMethod::Majority, Tie::Undecided));
    assert_eq!((undecided.winner, undecided.tied), (None, vec!["b".to_owned(), "a".to_owned()]));
    let first = count(&cast, &rule(VoteMethod::Majority, Tie::First));
    assert_eq!(first.winner.as_deref(), Some("b"), "voted for first");
    let listed = Vote { options: vec!["a".into(), "b".into()], ..rule(VoteMethod::Majority, Tie::First) };
    assert_eq!(count(&cast, &listed).winner.as_deref(), Some("a"), "listed first");
}

#[test]
fn unanimity_is_of_the_votes_cast() {
    let mut cast = votes_for(&["a", "a"]);
    cast.push(Cast::Abstained);
    let rule = rule(VoteMethod::Unanimous, Tie::Undecided);
    assert_eq!(count(&ballots(&cast), &rule).winner.as_deref(), Some("a"));
    cast.extend(votes_for(&["b"]));
    assert_eq!(count(&ballots(&cast), &rule).winner, None);
}

#[test]
fn too_few_votes_decide_nothing() {
    let rule = Vote { quorum: 3, ..rule(VoteMethod::Majority, Tie::First) };
    assert_eq!(count(&ballots(&votes_for(&["a", "a"])), &rule).winner, None);
}

#[test]
fn ranked_votes_run_off() {
    let ranked = |lists: &[&[&str]]| -> Vec<Ballot> {
        let cast = lists.iter().map(|list| Cast::For(list.iter().map(|s| (*s).to_owned()).collect()));
        ballots(&cast.collect::<Vec<_>>())
    };
    let rule = rule(VoteMethod::Ranked, Tie::Undecided);
    let cast = ranked(&[&["a", "b"], &["a", "b"], &["b", "a"], &["b", "a"], &["c", "b"]]);
    let result = count(&cast, &rule);
    assert_eq!(result.winner.as_deref(), Some("b"), "c leaves, its vote goes to b");
    assert_eq!(result.report["rounds"].as_array().unwrap().len(), 2);
    let level = count(&ranked(&[&["a"], &["b"]]), &rule);
    assert_eq!((level.winner, level.tied.len()), (None, 2));
}

#[test]
fn votes_are_read_from_what_members_answer() {
    let rule =
        Vote { options: vec!["Yes".into(), "No".into()], ..rule(VoteMethod::Majority, Tie::Undecided) };
    assert_eq!(read_vote(&json!({ "vote": "yes", "reason": "x" }), &rule), Cast::For(vec!["Yes".into()]));
    assert_eq!(read_vote(&json!({ "vote": null }), &rule), Cast::Abstained);
    assert_eq!(read_vote(&json!({ "vote": "abstain" }), &rule), Cast::Abstained);
    assert_eq!(read_vote(&json!({ "result": " no " }), &rule), Cast::For(vec!["No".into()]));
    assert!(matches!(read_vote(&json!({ "vote": "maybe" }), &rule), Cast::Spoilt(_)));
    assert!(matches!(read_vote(&json!({ "vote": { "x": 1 } }), &rule), Cast::Spoilt(_)));
}
