//! Counting votes. Pure: ballots in, a result with tally and dissent out.
//!
//! A member that abstains or fails casts no vote: shares are of the votes cast. Options come in the order in which they are
//! listed, else in which they were first voted for, and that order alone breaks ties where the rule says `first`.

use convoke_model::excerpt::clipped;
use convoke_model::hash::{HashMap, HashSet};
use convoke_plan::{Tie, Vote, VoteMethod};
use serde_json::{Map, Value, json};

/// The vote of one member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ballot {
    pub member: String,
    pub cast: Cast,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cast {
    /// One option, or several with the best first.
    For(Vec<String>),
    /// Nothing on purpose.
    Abstained,
    /// Something that cannot be counted.
    Spoilt(String),
    /// The member failed.
    Failed(String),
}

/// What the votes came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Count {
    pub winner: Option<String>,
    /// Several options are level at the top.
    pub tied: Vec<String>,
    /// The result as it is reported.
    pub report: Value,
}

/// Counts votes by a rule.
pub(crate) fn count(ballots: &[Ballot], rule: &Vote) -> Count {
    let ballots = &spelt_alike(ballots, rule);
    let cast: Vec<&Vec<String>> = ballots.iter().filter_map(votes).collect();
    let options = options(&cast, rule);
    let tally = tally(&cast, &options);
    let (mut winner, tied, rounds) = match rule.method {
        VoteMethod::Ranked => run_off(&cast, &options),
        method => {
            let (winner, tied) = first_past(&tally, cast.len(), method);
            (winner, tied, Vec::new())
        }
    };
    if winner.is_none() && rule.tie == Tie::First {
        winner = tied.first().cloned();
    }
    if (cast.len() as u32) < rule.quorum {
        winner = None;
    }
    let report = report(ballots, rule, &tally, winner.as_deref(), &tied, cast.len(), rounds);
    Count { winner, tied, report }
}

/// Ballots with one spelling for each option: the listed one, else the first one.
fn spelt_alike(ballots: &[Ballot], rule: &Vote) -> Vec<Ballot> {
    let mut known: HashMap<String, String> = HashMap::default();
    for option in &rule.options {
        known.entry(option.to_lowercase()).or_insert_with(|| option.clone());
    }
    let mut spelt =
        |choice: &String| known.entry(choice.to_lowercase()).or_insert_with(|| choice.clone()).clone();
    let alike = |ballot: &Ballot| match &ballot.cast {
        Cast::For(choices) => {
            let mut choices: Vec<String> = choices.iter().map(&mut spelt).collect();
            let mut seen = HashSet::default();
            choices.retain(|choice| seen.insert(choice.clone()));
            Ballot { member: ballot.member.clone(), cast: Cast::For(choices) }
        }
        _ => ballot.clone(),
    };
    ballots.iter().map(alike).collect()
}

fn votes(ballot: &Ballot) -> Option<&Vec<String>> {
    match &ballot.cast {
        Cast::For(choices) => Some(choices),
        _ => None,
    }
}

fn options(cast: &[&Vec<String>], rule: &Vote) -> Vec<String> {
    let mut options = rule.options.clone();
    for choice in cast.iter().copied().flatten() {
        if !options.contains(choice) {
            options.push(choice.clone());
        }
    }
    options
}

/// First choices per option, in the order of the options.
fn tally(cast: &[&Vec<String>], options: &[String]) -> Vec<(String, usize)> {
    let votes = |option: &String| cast.iter().filter(|choices| choices.first() == Some(option)).count();
    options.iter().map(|option| (option.clone(), votes(option))).collect()
}

fn first_past(tally: &[(String, usize)], cast: usize, method: VoteMethod) -> (Option<String>, Vec<String>) {
    let most = tally.iter().map(|(_, votes)| *votes).max().unwrap_or(0);
    let top: Vec<String> = tally
        .iter()
        .filter(|(_, votes)| *votes == most && most > 0)
        .map(|(option, _)| option.clone())
        .collect();
    let enough = match method {
        VoteMethod::Unanimous => most == cast,
        // A share such as 2/3 must not fail by a rounding error.
        VoteMethod::Threshold(share) => most as f64 + 1e-9 >= share * cast as f64,
        VoteMethod::Majority | VoteMethod::Ranked => true,
    };
    match top.as_slice() {
        [one] if enough => (Some(one.clone()), Vec::new()),
        [_, _, ..] if enough => (None, top),
        _ => (None, Vec::new()),
    }
}

/// Instant run-off: the option with the fewest first places leaves until one has more than half.
fn run_off(cast: &[&Vec<String>], options: &[String]) -> (Option<String>, Vec<String>, Vec<Value>) {
    let mut left: Vec<&String> = options.iter().collect();
    let mut rounds = Vec::new();
    loop {
        let first = |choices: &&Vec<String>| choices.iter().find(|choice| left.contains(choice)).cloned();
        let firsts: Vec<String> = cast.iter().filter_map(first).collect();
        let votes = |option: &&String| firsts.iter().filter(|first| first == option).count();
        let standing: Vec<(&String, usize)> = left.iter().map(|option| (*option, votes(option))).collect();
        rounds.push(Value::Object(
            standing.iter().map(|(option, votes)| ((*option).clone(), json!(votes))).collect::<Map<_, _>>(),
        ));
        if let Some((winner, _)) = standing.iter().find(|(_, votes)| votes * 2 > firsts.len()) {
            return (Some((*winner).clone()), Vec::new(), rounds);
        }
        let Some(fewest) = standing.iter().map(|(_, votes)| *votes).min().filter(|_| !firsts.is_empty())
        else {
            return (None, Vec::new(), rounds);
        };
        if standing.iter().all(|(_, votes)| *votes == fewest) {
            let tied = standing.into_iter().map(|(option, _)| option.clone()).collect();
            return (None, tied, rounds);
        }
        left = standing.into_iter().filter(|(_, votes)| *votes > fewest).map(|(option, _)| option).collect();
    }
}

fn report(
    ballots: &[Ballot],
    rule: &Vote,
    tally: &[(String, usize)],
    winner: Option<&str>,
    tied: &[String],
    cast: usize,
    rounds: Vec<Value>,
) -> Value {
    let (mut chosen, mut abstained, mut spoilt, mut failed) =
        (Map::new(), Vec::new(), Map::new(), Map::new());
    for ballot in ballots {
        let member = ballot.member.clone();
        match &ballot.cast {
            Cast::For(choices) if rule.method == VoteMethod::Ranked => {
                drop(chosen.insert(member, json!(choices)))
            }
            Cast::For(choices) => drop(chosen.insert(member, json!(choices.first()))),
            Cast::Abstained => abstained.push(member),
            Cast::Spoilt(why) => drop(spoilt.insert(member, json!(why))),
            Cast::Failed(why) => drop(failed.insert(member, json!(why))),
        }
    }
    let against =
        |ballot: &&Ballot| votes(ballot).is_some_and(|chosen| chosen.first().map(String::as_str) != winner);
    let dissent: Vec<&str> = match winner {
        Some(_) => ballots.iter().filter(against).map(|ballot| ballot.member.as_str()).collect(),
        None => Vec::new(),
    };
    let tally: Map<String, Value> =
        tally.iter().map(|(option, votes)| (option.clone(), json!(votes))).collect();
    let mut report = json!({
        "method": method_word(rule.method), "decided": winner.is_some(), "winner": winner, "tally": tally, "cast": cast,
        "votes": chosen, "abstained": abstained, "spoilt": spoilt, "failed": failed, "tie": tied, "dissent": dissent,
    });
    if !rounds.is_empty() {
        report["rounds"] = json!(rounds);
    }
    report
}

fn method_word(method: VoteMethod) -> &'static str {
    match method {
        VoteMethod::Majority => "majority",
        VoteMethod::Unanimous => "unanimous",
        VoteMethod::Threshold(_) => "threshold",
        VoteMethod::Ranked => "ranked",
    }
}

/// Reads a member's vote from its output: the field that the rule names, the output itself if it is a plain text.
pub(crate) fn read_vote(output: &Value, rule: &Vote) -> Cast {
    let field = match output {
        Value::Object(fields) => {
            fields.get(&rule.field).or_else(|| fields.get("result").filter(|_| fields.len() == 1))
        }
        other => Some(other),
    };
    let choices = match field {
        None | Some(Value::Null) => return Cast::Abstained,
        Some(Value::Array(list)) if rule.method == VoteMethod::Ranked => {
            list.iter().filter_map(option_of).collect()
        }
        Some(value) => match option_of(value) {
            Some(choice) => vec![choice],
            None => return Cast::Spoilt(format!("{} is no vote", short(value))),
        },
    };
    judge(choices, rule)
}

fn judge(mut choices: Vec<String>, rule: &Vote) -> Cast {
    let mut seen = convoke_model::hash::HashSet::default();
    choices.retain(|choice| seen.insert(choice.clone()));
    if choices.first().is_none_or(|choice| choice.is_empty() || choice.eq_ignore_ascii_case("abstain")) {
        return Cast::Abstained;
    }
    if rule.options.is_empty() {
        return Cast::For(choices);
    }
    let listed = |choice: &String| rule.options.iter().find(|option| same_word(option, choice)).cloned();
    match choices.iter().map(listed).collect::<Option<Vec<_>>>() {
        Some(known) => Cast::For(known),
        None => Cast::Spoilt(format!("`{}` is not among the options", choices.join("`, `"))),
    }
}

fn same_word(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn option_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Bool(choice) => Some(if *choice { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn short(value: &Value) -> String {
    clipped(&value.to_string(), 60)
}

#[cfg(test)]
mod tests;
