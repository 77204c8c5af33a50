//! Skills whose steps are headings: `### Step 2: Name [depends_on: a, b]`.
//!
//! Each step is an agent: its id is its name in kebab case, its task what stands below the heading. The text before
//! the first step is told to every agent. Headings inside code fences are code.

use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::super::escape;
use super::super::tree::{Node, Pair};
use crate::diagnostic::{Diagnostic, SourceFile, Span};

static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^#{2,5}[ \t]+step[ \t]+[0-9]+[a-z]?[ \t]*[:.\-\u{2013}\u{2014}][ \t]*(?<name>[^\[\r\n]*?)[ \t]*(?:\[(?<settings>[^\]\r\n]*)\])?[ \t]*#*\r?$")
        .expect("a pattern of ours")
});

/// Words about dependencies in places that are not read for them.
static LOST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[(\[{]?\b(depends?[ _-]?on|dependenc(y|ies))\s*[:=]").expect("a pattern of ours")
});

/// One step of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillStep {
    /// Its name in kebab case.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The steps that it waits for, in kebab case.
    pub depends_on: Vec<String>,
    /// What stands below its heading.
    pub task: String,
    name_at: Range<usize>,
    depends_at: Vec<Range<usize>>,
    task_at: Range<usize>,
}

/// The steps of a skill, in the order of the text.
pub fn steps(text: &str) -> Vec<SkillStep> {
    let headings = headings(text);
    let end_of = |index: usize| headings.get(index + 1).map_or(text.len(), |next| next.start);
    let step = |(index, line): (usize, &Range<usize>)| step(text, line.clone(), end_of(index));
    headings.iter().enumerate().map(step).collect()
}

/// Lines that are headings of steps.
fn headings(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if words.starts_with("```") || words.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced && STEP.is_match(line.trim_end_matches('\n')) {
            found.push(at..at + line.len());
        }
        at += line.len();
    }
    found
}

fn step(text: &str, line: Range<usize>, end: usize) -> SkillStep {
    let heading = text[line.clone()].trim_end_matches('\n');
    let found = STEP.captures(heading).expect("it was found by this pattern");
    let name = found.name("name").expect("a part of the pattern");
    let (depends_on, depends_at) = found.name("settings").map_or_else(Default::default, |settings| {
        dependencies(settings.as_str(), line.start + settings.start())
    });
    let below = &text[line.end..end];
    let begin = line.end + (below.len() - below.trim_start().len());
    let task = below.trim();
    SkillStep {
        id: kebab(name.as_str()),
        name: name.as_str().to_owned(),
        depends_on,
        task: task.to_owned(),
        name_at: line.start + name.start()..line.start + name.end(),
        depends_at,
        task_at: begin..begin + task.len(),
    }
}

/// `depends_on: a, b`; `none` and nothing name no agent.
fn dependencies(settings: &str, at: usize) -> (Vec<String>, Vec<Range<usize>>) {
    let Some((key, list)) = settings.split_once(':') else { return Default::default() };
    if !is_dependency(key) {
        return Default::default();
    }
    let mut start = at + key.len() + 1;
    let mut found = (Vec::new(), Vec::new());
    for entry in list.split(',') {
        let name = entry.trim();
        let begin = start + (entry.len() - entry.trim_start().len());
        start += entry.len() + 1;
        if !name.is_empty() && !name.eq_ignore_ascii_case("none") {
            found.0.push(kebab(name));
            found.1.push(begin..begin + name.len());
        }
    }
    found
}

/// What looks like a dependency in a heading and is none.
fn misspelt(text: &str, line: Range<usize>) -> Option<(Range<usize>, String)> {
    let heading = text[line.clone()].trim_end_matches('\n');
    let found = STEP.captures(heading)?;
    let settings = found.name("settings").filter(|settings| !is_understood(settings.as_str()));
    let part = settings.map(|part| (part.range(), part.as_str())).or_else(|| {
        let name = found.name("name")?;
        let lost = LOST.find(name.as_str())?;
        Some((name.start() + lost.start()..name.end(), &name.as_str()[lost.start()..]))
    });
    part.map(|(range, words)| (line.start + range.start..line.start + range.end, words.trim().to_owned()))
}

/// Brackets hold dependencies, or a remark: something without a colon that does not begin like one.
fn is_understood(settings: &str) -> bool {
    match settings.split_once(':') {
        Some((key, _)) => is_dependency(key),
        None => !LOST.is_match(&format!("{settings}:")) && !settings.to_ascii_lowercase().contains("depend"),
    }
}

fn is_dependency(key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    matches!(key.as_str(), "depends_on" | "depends" | "after")
}

/// `Research Agent` → `research-agent`.
pub fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' => out.extend(c.to_lowercase()),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// The manifest of a skill; a text without steps is none.
pub(crate) fn manifest(file: &Arc<SourceFile>) -> Result<Rc<Node>, Diagnostic> {
    let text = file.text.as_str();
    let steps = steps(text);
    let at = |range: Range<usize>| Span { file: file.clone(), range };
    if steps.is_empty() {
        let message = format!("skill `{}` has no steps", file.path);
        let found = Diagnostic::error("workflow::not_a_workflow", message, at(0..0), "no heading is a step");
        return Err(found.help("a step is a heading such as `### Step 1: Name [depends_on: none]`"));
    }
    if let Some((range, words)) = headings(text).into_iter().find_map(|line| misspelt(text, line)) {
        let message = format!("`{words}` in the heading of a step says nothing that is understood");
        let found = Diagnostic::error("workflow::unknown_value", message, at(range), "no dependency");
        return Err(found.help("write `[depends_on: name, name]` at the end of the heading"));
    }
    let whole = at(0..0);
    let preface = Preface::of(text, headings(text)[0].start);
    let mut pairs = Vec::new();
    pairs.extend(preface.name.map(|name| Pair::new("name", Node::text(name, &whole))));
    pairs.extend(preface.description.map(|about| Pair::new("description", Node::text(about, &whole))));
    pairs.push(Pair::new("mode", Node::plain("wave", &whole)));
    pairs.push(Pair::new("query", Node::text("", &whole)));
    if !preface.text.is_empty() {
        pairs.push(Pair::new("context", Node::text(escape::data(preface.text), &whole)));
    }
    let agents = steps.iter().map(|step| agent(step, &at)).collect();
    pairs.push(Pair::new("agents", Node::list(agents, &whole)));
    Ok(Node::map(pairs, &whole))
}

fn agent(step: &SkillStep, at: &dyn Fn(Range<usize>) -> Span) -> Rc<Node> {
    let (name, task) = (at(step.name_at.clone()), at(step.task_at.clone()));
    let words = if step.task.is_empty() { &step.name } else { &step.task };
    let asked =
        format!("{}{{% if query %}}\n\nThe request: {{{{ query }}}}{{% endif %}}", escape::template(words));
    let mut pairs = vec![
        Pair::new("id", Node::text(step.id.clone(), &name)),
        Pair::new("role", Node::text(step.name.clone(), &name)),
        Pair::new("task", Node::text(asked, &task)),
    ];
    if !step.depends_on.is_empty() {
        let entry = |(id, place): (&String, &Range<usize>)| Node::text(id.clone(), &at(place.clone()));
        let list = step.depends_on.iter().zip(&step.depends_at).map(entry).collect();
        pairs.push(Pair::new("depends_on", Node::list(list, &name)));
    }
    Node::map(pairs, &name)
}

/// What stands before the first step.
struct Preface<'t> {
    name: Option<String>,
    description: Option<String>,
    text: &'t str,
}

impl<'t> Preface<'t> {
    fn of(text: &'t str, end: usize) -> Self {
        let before = text[..end].trim_start_matches('\u{feff}');
        let (front, rest) = match before.strip_prefix("---").and_then(|rest| rest.split_once("\n---")) {
            Some((front, rest)) => (front, rest.split_once('\n').map_or("", |(_, rest)| rest)),
            None => ("", before),
        };
        let stated = |key: &str| front.lines().find_map(|line| value_of(line, key));
        let rest = rest.trim();
        let title = rest.strip_prefix("# ").and_then(|rest| rest.lines().next()).map(str::trim);
        let body = if title.is_some() { rest.split_once('\n').map_or("", |(_, rest)| rest) } else { rest };
        let name = stated("name").or_else(|| title.map(str::to_owned)).filter(|name| !name.is_empty());
        Self { name, description: stated("description"), text: body.trim() }
    }
}

fn value_of(line: &str, key: &str) -> Option<String> {
    let value = line.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty() && !value.starts_with(['|', '>'])).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = "---\nname: audit-flow\ndescription: Audits things\n---\n# Audit\n\nFor everybody.\n\n### Step 1: Research Agent [depends_on: none]\n\nLook at ${HOME} and {{ this }}.\n\n```md\n### Step 9: not a step\n```\n\n### Step 2: Auditor Agent [depends_on: research-agent]\n\nAudit.\n\n### Step 3: Reporting Agent [depends_on: researcher, auditor-agent]\n";

    #[test]
    fn pe_16_steps_have_ids_in_kebab_case_and_their_dependencies() {
        let steps = steps(SKILL);
        let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["research-agent", "auditor-agent", "reporting-agent"]);
        let before: Vec<&[String]> = steps.iter().map(|step| step.depends_on.as_slice()).collect();
        assert!(before[0].is_empty());
        assert_eq!(before[1], ["research-agent"]);
        assert_eq!(before[2], ["researcher", "auditor-agent"]);
        assert!(steps[0].task.contains("not a step"));
        assert_eq!((steps[1].task.as_str(), steps[2].task.as_str()), ("Audit.", ""));
    }

    #[test]
    fn places_are_those_of_the_text() {
        let steps = steps(SKILL);
        assert_eq!(&SKILL[steps[2].depends_at[0].clone()], "researcher");
        assert_eq!(&SKILL[steps[2].depends_at[1].clone()], "auditor-agent");
        assert_eq!(&SKILL[steps[1].name_at.clone()], "Auditor Agent");
        assert_eq!(&SKILL[steps[1].task_at.clone()], "Audit.");
    }

    #[test]
    fn names_become_kebab_case() {
        for (name, id) in [
            ("Research Agent", "research-agent"),
            ("  A & B!  ", "a-b"),
            ("Schritt Ü", "schritt-ü"),
            ("x_y", "x_y"),
        ] {
            assert_eq!(kebab(name), id);
        }
    }

    #[test]
    fn what_stands_before_the_steps_is_told_to_all() {
        let preface = Preface::of(SKILL, headings(SKILL)[0].start);
        assert_eq!(preface.name.as_deref(), Some("audit-flow"));
        assert_eq!(preface.description.as_deref(), Some("Audits things"));
        assert_eq!(preface.text, "For everybody.");
    }
}
