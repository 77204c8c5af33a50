//! What assessors found: how severe it is, and what became of it.
//!
//! Pure: what was said in each round in, one list out. A finding that comes back word for word in the next round is the
//! same finding, still open; it is listed once, with the round in which it was found.

use convoke_plan::plan::Severity;
use serde_json::{Value, json};

/// The findings of one assessment.
pub(super) fn findings(said: &Value) -> Vec<Value> {
    said.get("findings").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// How many of them must be corrected.
pub(super) fn open_findings(said: &Value, from: Severity) -> usize {
    findings(said).iter().filter(|finding| severity(finding) >= from).count()
}

/// An unknown severity is taken seriously.
pub(super) fn severity(finding: &Value) -> Severity {
    let word = finding["severity"].as_str().unwrap_or_default();
    Severity::ALL.into_iter().find(|severity| severity.word() == word).unwrap_or(Severity::High)
}

/// Every finding of all assessments with its round and what became of it.
pub(super) fn with_status(assessments: &[Value], from: Severity) -> Vec<Value> {
    let mut all: Vec<(Value, usize)> = Vec::new();
    for (round, said) in assessments.iter().enumerate() {
        let known = all.len();
        for finding in findings(said) {
            let before =
                all[..known].iter_mut().find(|(old, seen)| *seen + 1 == round && same(old, &finding));
            match before {
                Some((_, seen)) => *seen = round,
                None => {
                    let mut finding = finding;
                    finding["round"] = json!(round + 1);
                    all.push((finding, round));
                }
            }
        }
    }
    all.into_iter()
        .map(|(mut finding, seen)| {
            finding["status"] = json!(status(&finding, from, seen + 1 == assessments.len()));
            finding
        })
        .collect()
}

fn status(finding: &Value, from: Severity, last: bool) -> &'static str {
    match (severity(finding) >= from, last) {
        (false, _) => "noted",
        (true, true) => "open",
        (true, false) => "corrected",
    }
}

/// Whether both say the same about the same words.
fn same(one: &Value, other: &Value) -> bool {
    ["kind", "claim", "severity"].iter().all(|field| one[*field] == other[*field])
}

/// What remains, in a line: how many, and the worst of them.
pub(super) fn remains(findings: &[Value]) -> Option<String> {
    let open: Vec<&Value> = findings.iter().filter(|finding| finding["status"] == "open").collect();
    let worst = open.iter().max_by_key(|finding| severity(finding))?;
    let claim: String = worst["claim"]
        .as_str()
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect();
    let (verb, noun) = if open.len() == 1 { ("remains", "finding") } else { ("remain", "findings") };
    Some(format!("{} {noun} {verb} open, the worst is {}: {claim}", open.len(), severity(worst).word()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(claims: &[(&str, &str)]) -> Value {
        let finding =
            |(claim, severity): &(&str, &str)| json!({"kind": "gap", "claim": claim, "severity": severity});
        json!({ "findings": claims.iter().map(finding).collect::<Vec<_>>() })
    }

    fn summary(found: &[Value]) -> Vec<(String, u64, String)> {
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        found
            .iter()
            .map(|one| (word(&one["claim"]), one["round"].as_u64().unwrap(), word(&one["status"])))
            .collect()
    }

    #[test]
    fn a_finding_that_comes_back_is_one_finding_that_is_open() {
        let rounds = [said(&[("a", "high"), ("b", "high")]), said(&[("a", "high"), ("c", "low")])];
        let found = with_status(&rounds, Severity::High);
        let expected = [("a", 1, "open"), ("b", 1, "corrected"), ("c", 2, "noted")];
        assert_eq!(
            summary(&found),
            expected.map(|(claim, round, status)| (claim.into(), round, status.into()))
        );
        assert_eq!(remains(&found).unwrap(), "1 finding remains open, the worst is high: a");
    }

    #[test]
    fn a_finding_that_was_gone_for_a_round_is_another_one() {
        let rounds = [said(&[("a", "high")]), said(&[]), said(&[("a", "high")])];
        let found = with_status(&rounds, Severity::Low);
        assert_eq!(summary(&found), [("a".into(), 1, "corrected".into()), ("a".into(), 3, "open".into())]);
        assert_eq!(remains(&with_status(&[said(&[])], Severity::Low)), None);
    }

    #[test]
    fn two_equal_findings_of_one_round_are_two() {
        assert_eq!(with_status(&[said(&[("a", "high"), ("a", "high")])], Severity::Low).len(), 2);
    }
}
