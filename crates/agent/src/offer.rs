//! Which tools an agent may see.
//!
//! Decided once, before a model sees any: what an allow list leaves out is neither shown nor called. Reading back what
//! was cut away is a tool of our own, shown only where there is something to read.

use crate::capability::recall;
use crate::{Tool, ToolCall, ToolSpec};
use convoke_model::Contract;

/// What joins server and tool in an entry of an allow list.
const JOINTS: [&str; 4] = ["__", ".", "/", ":"];

/// What a contract says about tools: names in any case, and a ban wins.
#[derive(Debug, Clone, Copy)]
pub struct Cleared<'a> {
    /// Those allowed; without a list, all.
    pub allowed: Option<&'a [String]>,
    /// Those banned.
    pub banned: &'a [String],
}

impl<'a> Cleared<'a> {
    /// What the contract of an attempt says.
    pub fn of(contract: &'a Contract) -> Cleared<'a> {
        Cleared { allowed: contract.allowed_tools.as_deref(), banned: &contract.banned_tools }
    }

    /// Whether nothing is left to offer, whatever tools there are.
    pub fn is_nothing(&self) -> bool {
        self.allowed.is_some_and(<[String]>::is_empty)
    }

    /// Whether it leaves out anything at all.
    pub fn is_limit(&self) -> bool {
        self.allowed.is_some() || !self.banned.is_empty()
    }

    fn admits(&self, tool: &Tool) -> bool {
        let named = |entries: &[String]| entries.iter().any(|entry| names_in_any_case(entry, tool));
        self.allowed.is_none_or(named) && !named(self.banned)
    }
}

/// The tools of one conversation.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    tools: Vec<Tool>,
    /// As models see them; the last is our own, unless there are none at all.
    specs: Vec<ToolSpec>,
    tokens: u64,
    missing: Vec<String>,
}

impl Offer {
    /// The tools that an allow list names; without a list, all of them.
    pub fn new(mut tools: Vec<Tool>, allowed: Option<&[String]>) -> Offer {
        let mut missing = Vec::new();
        if let Some(allowed) = allowed {
            let unmatched = allowed.iter().filter(|entry| !tools.iter().any(|tool| names(entry, tool)));
            missing = unmatched.cloned().collect();
            tools.retain(|tool| allowed.iter().any(|entry| names(entry, tool)));
        }
        Offer::of(tools, missing)
    }

    /// What a contract leaves of it.
    pub fn cleared(self, by: Cleared<'_>) -> Offer {
        let tools = self.tools.into_iter().filter(|tool| by.admits(tool)).collect();
        Offer::of(tools, self.missing)
    }

    fn of(tools: Vec<Tool>, missing: Vec<String>) -> Offer {
        let mut specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec.clone()).collect();
        if !specs.is_empty() {
            specs.push(recall::spec());
        }
        let tokens = specs.iter().map(ToolSpec::tokens).sum();
        Offer { tools, specs, tokens, missing }
    }

    /// Nothing but the tool that reads back.
    pub fn of_recall() -> Offer {
        let specs = vec![recall::spec()];
        let tokens = specs.iter().map(ToolSpec::tokens).sum();
        Offer { tools: Vec::new(), specs, tokens, missing: Vec::new() }
    }

    /// The tools as a model sees them, with or without the one that reads back.
    pub fn specs(&self, with_recall: bool) -> &[ToolSpec] {
        let most = self.specs.len();
        &self.specs[..if with_recall { most } else { most.saturating_sub(1) }]
    }

    /// Our estimate of the tokens that they take in a request.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The tool that a model knows by this name.
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// The names that a model knows.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec.name.as_str())
    }

    /// Entries of the allow list that name nothing.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Whether a call may be made again when nobody knows what became of it.
    pub fn is_repeatable(&self, call: &ToolCall) -> bool {
        self.find(&call.name).is_none_or(|tool| tool.repeatable)
    }
}

/// Whether an entry of an allow list names the tool, alone or with its server.
fn names(entry: &str, tool: &Tool) -> bool {
    fits(entry.trim(), [&tool.server, &tool.name, &tool.spec.name])
}

/// The same for an entry of a contract, which may be written in any case.
fn names_in_any_case(entry: &str, tool: &Tool) -> bool {
    let [server, name, known] = [&tool.server, &tool.name, &tool.spec.name].map(|text| text.to_lowercase());
    fits(&entry.trim().to_lowercase(), [&server, &name, &known])
}

fn fits(entry: &str, [server, name, known]: [&String; 3]) -> bool {
    let joined = |joint: &&str| matches(entry, &format!("{server}{joint}{name}"));
    matches(entry, name) || matches(entry, known) || JOINTS.iter().any(joined)
}

/// Whether the text fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(before) else { return false };
    let mut text = text;
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(server: &str, name: &str) -> Tool {
        let spec_name = format!("{server}__{}", name.replace('.', "_"));
        let spec = ToolSpec { name: spec_name, description: String::new(), input_schema: json!({}) };
        Tool { server: server.into(), name: name.into(), spec, output_schema: None, repeatable: false }
    }

    fn all() -> Vec<Tool> {
        vec![tool("git", "log"), tool("git", "diff.stat"), tool("fs", "log"), tool("fs", "read_file")]
    }

    fn offered(entries: &[&str]) -> (Vec<String>, Vec<String>) {
        let entries: Vec<String> = entries.iter().map(|entry| entry.to_string()).collect();
        let offer = Offer::new(all(), Some(&entries));
        (offer.names().map(str::to_owned).collect(), offer.missing().to_vec())
    }

    #[test]
    fn every_way_to_name_a_tool_is_understood() {
        for entry in ["git__log", "git.log", "git/log", "git:log"] {
            assert_eq!(offered(&[entry]).0, ["git__log"], "{entry}");
        }
        assert_eq!(offered(&["log"]).0, ["git__log", "fs__log"]);
        assert_eq!(offered(&["diff.stat"]).0, ["git__diff_stat"]);
        assert_eq!(offered(&["git__diff_stat"]).0, ["git__diff_stat"]);
        for entry in ["fs__*", "fs/*", "fs:*", "fs.*"] {
            assert_eq!(offered(&[entry]).0, ["fs__log", "fs__read_file"], "{entry}");
        }
        assert_eq!(offered(&["read_*"]).0, ["fs__read_file"]);
        assert_eq!(offered(&["*__l*g"]).0, ["git__log", "fs__log"]);
        assert_eq!(offered(&["*"]).0.len(), 4);
    }

    #[test]
    fn what_names_nothing_is_said_and_nothing_else_gets_in() {
        let (names, missing) = offered(&["git__log", "lo", "git__", "web__*"]);
        assert_eq!((names, missing.len()), (vec!["git__log".to_owned()], 3));
        assert_eq!(offered(&[]), (vec![], vec![]));
    }

    fn cleared(allowed: Option<&[&str]>, banned: &[&str]) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let (allowed, banned) = (allowed.map(words), words(banned));
        let by = Cleared { allowed: allowed.as_deref(), banned: &banned };
        Offer::new(all(), None).cleared(by).names().map(str::to_owned).collect()
    }

    #[test]
    fn a_banned_tool_is_not_offered_however_either_list_writes_it() {
        assert_eq!(cleared(Some(&["LOG", "Read_File"]), &["Git.Log"]), ["fs__log", "fs__read_file"]);
        assert_eq!(cleared(Some(&["fs__log"]), &["FS__*"]), Vec::<String>::new());
        assert_eq!(cleared(None, &["log"]), ["git__diff_stat", "fs__read_file"]);
        assert_eq!(cleared(None, &[]).len(), 4);
        assert_eq!(cleared(Some(&[]), &[]).len(), 0);
    }

    #[test]
    fn reading_back_is_offered_only_beside_other_tools() {
        let offer = Offer::new(all(), None);
        assert_eq!((offer.specs(false).len(), offer.specs(true).len()), (4, 5));
        assert_eq!(offer.specs(true)[4].name, recall::NAME);
        let none = Offer::new(vec![], None);
        assert_eq!((none.specs(true).len(), none.tokens()), (0, 0));
    }

    #[test]
    fn a_star_stands_for_anything_but_no_part_is_used_twice() {
        assert!(matches("a*a", "aa") && matches("*", "") && matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*a", "a") && !matches("a*b*c", "acb"));
    }
}
