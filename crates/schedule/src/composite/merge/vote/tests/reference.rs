//! Random votes, counted once more: by hand, as people would with slips of paper.

use super::super::*;
use super::ballots;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NAMES: [&str; 5] = ["ship", "wait", "stop", "sell", "sleep"];

/// Everything that a member can come to: a vote or a ranking, nothing, nonsense, a failure.
fn any_cast() -> impl Strategy<Value = Cast> {
    let ranking = Just(NAMES.to_vec()).prop_shuffle().prop_flat_map(|names| (Just(names), 1usize..=5));
    let ranking = ranking.prop_map(|(names, count)| {
        Cast::For(names.into_iter().take(count).map(str::to_owned).collect::<Vec<_>>())
    });
    prop_oneof![
        6 => ranking,
        1 => Just(Cast::Abstained),
        1 => Just(Cast::Spoilt("no vote".to_owned())),
        1 => Just(Cast::Failed("timed out".to_owned())),
    ]
}

fn any_method() -> impl Strategy<Value = VoteMethod> {
    let shares = [1.0 / 3.0, 0.5, 0.66, 2.0 / 3.0, 0.75, 1.0];
    prop_oneof![
        Just(VoteMethod::Majority),
        Just(VoteMethod::Unanimous),
        prop::sample::select(shares.to_vec()).prop_map(VoteMethod::Threshold),
        Just(VoteMethod::Ranked),
    ]
}

/// The count by hand: the winner, and the options that are level at the top.
#[derive(Debug, PartialEq)]
struct ByHand {
    winner: Option<String>,
    tied: BTreeSet<String>,
}

/// The slips on each heap: every slip lies with the first name on it that is still in the room.
fn heaps<'a>(slips: &[&'a [String]], room: &BTreeSet<&'a str>) -> BTreeMap<&'a str, usize> {
    let mut heaps: BTreeMap<&str, usize> = room.iter().map(|name| (*name, 0)).collect();
    for slip in slips {
        if let Some(name) = slip.iter().map(String::as_str).find(|name| room.contains(name)) {
            *heaps.get_mut(name).expect("in the room") += 1;
        }
    }
    heaps
}

fn highest<'a>(heaps: &BTreeMap<&'a str, usize>) -> (BTreeSet<&'a str>, usize) {
    let most = heaps.values().copied().max().unwrap_or(0);
    (heaps.iter().filter(|(_, count)| **count == most && most > 0).map(|(name, _)| *name).collect(), most)
}

fn by_hand(slips: &[&[String]], listed: &[String], method: VoteMethod) -> ByHand {
    let everybody: BTreeSet<&str> =
        slips.iter().flat_map(|slip| slip.iter()).chain(listed).map(String::as_str).collect();
    if method == VoteMethod::Ranked {
        return run_off_by_hand(slips, everybody);
    }
    let (top, most) = highest(&heaps(slips, &everybody));
    let enough = match method {
        VoteMethod::Unanimous => slips.len() == most,
        // In whole numbers: the shares that are asked here are such of hundredths, or thirds.
        VoteMethod::Threshold(share) => {
            let parts =
                [(1.0 / 3.0, 1, 3), (2.0 / 3.0, 2, 3)].into_iter().find(|(third, ..)| *third == share);
            let (over, under) = parts.map_or(((share * 100.0).round() as usize, 100), |(_, n, d)| (n, d));
            most * under >= slips.len() * over
        }
        VoteMethod::Majority | VoteMethod::Ranked => true,
    };
    decided(top, enough)
}

fn decided(top: BTreeSet<&str>, enough: bool) -> ByHand {
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    match (top.len(), enough) {
        (1, true) => ByHand { winner: owned(top).pop_first(), tied: BTreeSet::new() },
        (0, _) | (_, false) => ByHand { winner: None, tied: BTreeSet::new() },
        _ => ByHand { winner: None, tied: owned(top) },
    }
}

/// The option with the smallest heap leaves, together with those of the same size, unless all are.
fn run_off_by_hand<'a>(slips: &[&'a [String]], mut room: BTreeSet<&'a str>) -> ByHand {
    loop {
        let heaps = heaps(slips, &room);
        let (top, most) = highest(&heaps);
        let counted: usize = heaps.values().sum();
        let least = heaps.values().copied().min().unwrap_or(0);
        if most * 2 > counted || most == least {
            return decided(top, true);
        }
        room.retain(|name| heaps[name] > least);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn votes_come_to_what_a_count_by_hand_comes_to(
        cast in prop::collection::vec(any_cast(), 0..12),
        method in any_method(),
        listed in prop::sample::subsequence(NAMES.to_vec(), 0..=5),
        first_of_tied in any::<bool>(),
        quorum in 1u32..6,
    ) {
        let tie = if first_of_tied { Tie::First } else { Tie::Undecided };
        let options: Vec<String> = listed.into_iter().map(str::to_owned).collect();
        let rule = Vote { method, field: "vote".into(), options: options.clone(), tie, quorum };
        let counted = count(&ballots(&cast), &rule);

        let slips: Vec<&[String]> =
            cast.iter().filter_map(|cast| if let Cast::For(names) = cast { Some(&names[..]) } else { None }).collect();
        let expected = by_hand(&slips, &options, method);
        prop_assert_eq!(&counted.tied.iter().cloned().collect::<BTreeSet<_>>(), &expected.tied);
        match (slips.len() < quorum as usize, first_of_tied && !expected.tied.is_empty()) {
            (true, _) => prop_assert_eq!(&counted.winner, &None, "too few votes decide nothing"),
            (false, true) => prop_assert!(expected.tied.contains(counted.winner.as_deref().unwrap())),
            (false, false) => prop_assert_eq!(&counted.winner, &expected.winner),
        }
        prop_assert_eq!(&counted.report["winner"], &json!(counted.winner));
        prop_assert_eq!(&counted.report["decided"], &json!(counted.winner.is_some()));
    }

    #[test]
    fn everybody_is_in_the_report_exactly_once(
        cast in prop::collection::vec(any_cast(), 0..12),
        method in any_method(),
    ) {
        let rule = Vote { method, field: "vote".into(), options: Vec::new(), tie: Tie::Undecided, quorum: 1 };
        let counted = count(&ballots(&cast), &rule);
        let report = &counted.report;
        let keys = |field: &str| report[field].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut members: Vec<String> = [keys("votes"), keys("spoilt"), keys("failed")].concat();
        members.extend(report["abstained"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned()));
        members.sort();
        let mut expected: Vec<String> = (1..=cast.len()).map(|number| format!("m{number}")).collect();
        expected.sort();
        prop_assert_eq!(members, expected);

        let firsts: Vec<&String> =
            cast.iter().filter_map(|cast| if let Cast::For(names) = cast { names.first() } else { None }).collect();
        prop_assert_eq!(&report["cast"], &json!(firsts.len()));
        for (option, votes) in report["tally"].as_object().unwrap() {
            prop_assert_eq!(votes, &json!(firsts.iter().filter(|first| *first == &option).count()));
        }
        let against = firsts.iter().filter(|first| Some(**first) != counted.winner.as_ref()).count();
        let dissent = if counted.winner.is_some() { against } else { 0 };
        prop_assert_eq!(report["dissent"].as_array().unwrap().len(), dissent);
    }
}
