//! Findings about an organisation: contradictions, found by the rules, and missing parts, found by a look at all of it.

use super::Organisation;
use super::chart::WORDS;
use crate::rules::{Line, words};
use crate::vocab::{self, cv, rdf_type, short};
use convoke_plan::Diagnostic;
use convoke_plan::diagnostic::Span;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use std::collections::{BTreeMap, BTreeSet};

/// Contradictions that are told; the others most often follow from the same mistake.
const TOLD: usize = 20;

/// Everything that was found.
pub fn check(organisation: &Organisation) -> Vec<Diagnostic> {
    let look = Look(organisation);
    let mut found = look.unknown_words();
    found.extend(look.contradictions());
    found.extend(look.roles());
    found.extend(look.same_ids());
    found.extend(look.departments());
    found.extend(look.department_circles());
    found.extend(look.servers());
    found.extend(look.numbers());
    if organisation.chart.roles.is_empty() {
        let message = "no role is described, so there is no agent to run";
        let place = organisation.stated.start();
        found.push(Diagnostic::error("org::empty", message, place, "no cv:AgentRole in these files"));
    }
    found
}

struct Look<'o>(&'o Organisation);

impl Look<'_> {
    fn place(&self, iri: &str) -> Span {
        self.0.stated.place_of(iri)
    }

    /// The place of a statement, or of its subject where it follows from others.
    fn place_of(&self, subject: &str, predicate: &str, object: &str) -> Span {
        let is_it = |triple: &&Triple| {
            let is_subject =
                matches!(&triple.subject, NamedOrBlankNode::NamedNode(node) if node.as_str() == subject);
            let is_object = matches!(&triple.object, Term::NamedNode(node) if node.as_str() == object);
            is_subject && is_object && triple.predicate.as_str() == cv(predicate).as_str()
        };
        let found = self.0.stated.triples().find(is_it).and_then(|triple| self.0.stated.place(triple));
        found.unwrap_or_else(|| self.place(subject))
    }

    /// What was written later stands behind.
    fn order(&self, place: &Span) -> (usize, usize) {
        (self.0.stated.number_of(place), place.range.start)
    }

    fn last_behind(&self, mut places: [Span; 2]) -> [Span; 2] {
        places.sort_by_key(|place| self.order(place));
        places
    }

    fn contradictions(&self) -> Vec<Diagnostic> {
        let reasoner = &self.0.reasoner;
        let mut told = BTreeSet::new();
        let mut found = Vec::new();
        for one in reasoner.contradictions() {
            let mut places: Vec<(Span, String)> = Vec::new();
            for triple in reasoner.stated(one) {
                if let Some(place) = self.0.stated.place(&triple) {
                    places.push((place, sentence(&triple)));
                }
            }
            // The same statements that break several rules are one mistake.
            let key: Vec<String> = places.iter().map(|(_, words)| words.clone()).collect();
            if key.is_empty() || !told.insert(key) {
                continue;
            }
            // What was written last most often is the mistake.
            places.sort_by_key(|(place, _)| std::cmp::Reverse(self.order(place)));
            let proof = reasoner.proof(one);
            let mut places = places.into_iter();
            let (first, words) = places.next().expect("there is one");
            let said = proof.iter().filter(|line| line.depth == 0).map(|line| line.words.as_str());
            let message = format!(
                "contradiction by {} ({}): {}",
                one.rule,
                one.axiom,
                said.collect::<Vec<_>>().join(" and ")
            );
            let mut finding = Diagnostic::error("org::inconsistent", message, first, words);
            for (place, words) in places {
                finding = finding.also(place, words);
            }
            found.push(finding.help(proof_text(&proof)));
            if found.len() == TOLD {
                break;
            }
        }
        found
    }

    /// Words of our namespace that do not exist are slips.
    fn unknown_words(&self) -> Vec<Diagnostic> {
        let known: BTreeSet<String> = super::ontology().iter().flat_map(subject_iri).collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for triple in self.0.stated.triples() {
            let class = match &triple.object {
                Term::NamedNode(node) if triple.predicate == rdf_type() => Some(node.as_str()),
                _ => None,
            };
            for word in [Some(triple.predicate.as_str()), class].into_iter().flatten() {
                if !word.starts_with(vocab::CV) || known.contains(word) || !seen.insert(word.to_owned()) {
                    continue;
                }
                let place = self.0.stated.place(triple).unwrap_or_else(|| self.0.stated.start());
                let message = format!("`{}` is no word of organisations", short(word));
                let finding = Diagnostic::error("org::unknown_word", message, place, "used here");
                let near = convoke_model::nearest(word, known.iter().map(String::as_str));
                found.push(match near {
                    Some(near) => finding.help(format!("did you mean `{}`?", short(near))),
                    None => finding.help("`convoke org words` prints all of them"),
                });
            }
        }
        found
    }

    fn roles(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (iri, role) in &self.0.chart.roles {
            let departments: Vec<&String> = role.departments.iter().collect();
            match departments.as_slice() {
                [] => {
                    let message = format!("role `{}` is in no department", role.id);
                    let finding =
                        Diagnostic::error("org::no_department", message, self.place(iri), "this role");
                    found.push(finding.help("say `:department cv:hasAgentRole :role`"));
                }
                [_] => {}
                [first, second, ..] => {
                    let name = |iri: &String| {
                        self.0.chart.departments.get(iri).map_or(iri.clone(), |one| one.name.clone())
                    };
                    let message = format!(
                        "role `{}` is in two departments: {} and {}",
                        role.id,
                        name(first),
                        name(second)
                    );
                    let places = [
                        self.place_of(first, "hasAgentRole", iri),
                        self.place_of(second, "hasAgentRole", iri),
                    ];
                    let [also, place] = self.last_behind(places);
                    let finding = Diagnostic::error("org::two_departments", message, place, "here")
                        .also(also, "and here");
                    found
                        .push(finding.help(
                            "a role works in one department; describe a second role for the other one",
                        ));
                }
            }
            if role.superiors.len() > 1 {
                let place = self.place_of(
                    iri,
                    "reportsTo",
                    role.superiors.iter().next_back().expect("there are two"),
                );
                let message = format!("role `{}` reports to {} superiors", role.id, role.superiors.len());
                found.push(Diagnostic::warning(
                    "org::two_superiors",
                    message,
                    place,
                    "each of them reads its result",
                ));
            }
        }
        found
    }

    fn same_ids(&self) -> Vec<Diagnostic> {
        let mut by_id: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for (iri, role) in &self.0.chart.roles {
            by_id.entry(&role.id).or_default().push(iri);
        }
        let doubled = by_id.into_iter().filter(|(_, iris)| iris.len() > 1);
        let finding = |(id, iris): (&str, Vec<&String>)| {
            let message = format!("{} roles have the id `{id}`", iris.len());
            Diagnostic::error("org::same_id", message, self.place(iris[0]), "this one")
                .also(self.place(iris[1]), "and this one")
                .help("give one of them a `cv:agentId` of its own")
        };
        doubled.map(finding).collect()
    }

    fn departments(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (iri, department) in &self.0.chart.departments {
            let place = self.place(iri);
            match &department.head {
                None => {
                    let message = format!("department `{}` has no head", department.name);
                    let finding = Diagnostic::error("org::no_head", message, place, "this department");
                    found.push(finding.help("say `cv:headedBy :role`: the head answers for the department"));
                }
                Some(head) if department.head_assumed => {
                    let message = format!(
                        "department `{}` states no head: `{}`, the one role in it without a superior in it, is taken",
                        department.name,
                        vocab::local(head)
                    );
                    found.push(Diagnostic::warning("org::no_head", message, place, "this department"));
                }
                Some(head) => {
                    let is_inside =
                        self.0.chart.roles.get(head).is_some_and(|role| role.departments.contains(iri));
                    if !is_inside {
                        let message = format!(
                            "the head of department `{}`, `{}`, is not in it",
                            department.name,
                            vocab::local(head)
                        );
                        let place = self.place_of(iri, "headedBy", head);
                        found.push(Diagnostic::error("org::no_head", message, place, "stated here"));
                    }
                }
            }
        }
        found
    }

    /// A circle of departments of which each waits for the next.
    fn department_circles(&self) -> Vec<Diagnostic> {
        let chart = &self.0.chart;
        let next = |iri: &String| -> Vec<&String> {
            chart
                .departments
                .get(iri)
                .map(|one| one.starts_after.iter().chain(&one.informed_by).collect())
                .unwrap_or_default()
        };
        for start in chart.departments.keys() {
            let mut path = vec![start];
            let mut open: Vec<Vec<&String>> = vec![next(start)];
            let mut seen = BTreeSet::new();
            while let Some(choices) = open.last_mut() {
                let Some(choice) = choices.pop() else {
                    open.pop();
                    path.pop();
                    continue;
                };
                if choice == start {
                    return vec![self.circle(&path)];
                }
                if seen.insert(choice) {
                    path.push(choice);
                    open.push(next(choice));
                }
            }
        }
        Vec::new()
    }

    fn circle(&self, path: &[&String]) -> Diagnostic {
        let name =
            |iri: &String| self.0.chart.departments.get(iri).map_or(iri.clone(), |one| one.name.clone());
        let mut names: Vec<String> = path.iter().map(|iri| name(iri)).collect();
        names.push(names[0].clone());
        let message = format!("departments wait for each other in a circle: {}", names.join(" → "));
        let edge = |n: usize| {
            let (from, to) = (path[n], path[(n + 1) % path.len()]);
            let starts = self.0.chart.departments.get(from).is_some_and(|one| one.starts_after.contains(to));
            let word = if starts { "dependsOnDepartment" } else { "informedByDepartment" };
            self.place_of(from, word, to)
        };
        let mut finding = Diagnostic::error("org::circle", message, edge(path.len() - 1), "waits here");
        for n in 0..path.len() - 1 {
            finding = finding.also(edge(n), "and here");
        }
        finding.help("take one of these statements out, or let one of them be `cv:informedByDepartment` the other way round")
    }

    fn servers(&self) -> Vec<Diagnostic> {
        let chart = &self.0.chart;
        let used: BTreeSet<&String> = chart.roles.values().flat_map(|role| &role.servers).collect();
        let mut found = Vec::new();
        for (iri, server) in &chart.servers {
            if server.command.is_none() && server.url.is_none() {
                let message = format!("server `{}` has neither `cv:command` nor `cv:url`", server.name);
                found.push(Diagnostic::error("org::no_way", message, self.place(iri), "cannot be reached"));
            }
            if !used.contains(iri) {
                let message = format!("no role may use server `{}`", server.name);
                found.push(Diagnostic::warning("org::unused_tool", message, self.place(iri), "this server"));
            }
        }
        found
    }

    /// Values that must be numbers.
    fn numbers(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (iri, role) in &self.0.chart.roles {
            for name in WORDS.iter().filter(|name| is_number(name)) {
                let Some(value) = role.words.get(name) else { continue };
                let fits = if *name == "budgetUsd" {
                    value.parse::<f64>().is_ok_and(|n| n > 0.0)
                } else {
                    value.parse::<u32>().is_ok()
                };
                if !fits {
                    let message =
                        format!("`cv:{name}` of role `{}` is `{value}`, not a number that fits", role.id);
                    found.push(Diagnostic::error("org::bad_number", message, self.place(iri), "this role"));
                }
            }
        }
        found
    }
}

fn is_number(name: &str) -> bool {
    matches!(name, "timeoutSeconds" | "maxRetries" | "maxTokens" | "budgetUsd")
}

fn subject_iri(triple: &Triple) -> Option<String> {
    match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => Some(node.as_str().to_owned()),
        NamedOrBlankNode::BlankNode(_) => None,
    }
}

/// A triple in words.
fn sentence(triple: &Triple) -> String {
    let subject = Term::from(triple.subject.clone());
    let predicate = Term::from(triple.predicate.clone());
    format!("{} {} {}", words(&subject), words(&predicate), words(&triple.object))
}

/// A proof, one fact a line.
fn proof_text(proof: &[Line]) -> String {
    let line = |line: &Line| {
        let space = "  ".repeat(line.depth);
        match &line.by {
            None => format!("{space}{} (stated)", line.words),
            Some((rule, axiom)) => format!("{space}{} ({rule}: {axiom})", line.words),
        }
    };
    let lines: Vec<String> = proof.iter().map(line).collect();
    format!("why:\n{}", lines.join("\n"))
}
