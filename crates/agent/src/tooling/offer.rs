//! Which tools an agent may see.
//!
//! Decided once, before a model sees any: what an allow list leaves out is neither shown nor called. Under a contract this
//! settles it: from then on only its names count. Reading back what was cut away is a tool of our own, shown only where
//! there is something to read.

use crate::capability::recall;
use crate::{Tool, ToolCall, ToolSpec};
use convoke_model::Contract;

/// The tools of one conversation.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    tools: Vec<Tool>,
    /// As models see them; the last is our own, unless there are none at all.
    specs: Vec<ToolSpec>,
    tokens: u64,
    missing: Vec<String>,
    /// Tools that there are and that the settled contract does not admit; `None` where no contract was settled.
    barred: Option<Vec<Tool>>,
}

impl Offer {
    /// The tools that an allow list names, in whatever case; without a list, all of them.
    pub fn new(mut tools: Vec<Tool>, allowed: Option<&[String]>) -> Offer {
        let named = |entry: &str, tool: &Tool| tool.names().is_in_any_case(entry);
        let missing = allowed.map(|allowed| sift(&mut tools, allowed, named));
        Offer::of(tools, missing.unwrap_or_default())
    }

    /// Settles a contract by the tools that there are, and offers what it then admits.
    pub fn settle(contract: &Contract, tools: Vec<Tool>) -> (Offer, Contract) {
        let is_missing = |entry: &&String| !tools.iter().any(|tool| tool.names().is_in_any_case(entry));
        let missing = contract.allowed_tools.iter().flatten().filter(is_missing).cloned().collect();
        let settled = contract.settled(tools.iter().map(Tool::names));
        let (offered, barred) = tools.into_iter().partition(|tool| settled.admits(tool.names()));
        (Offer { barred: Some(barred), ..Offer::of(offered, missing) }, settled)
    }

    fn of(tools: Vec<Tool>, missing: Vec<String>) -> Offer {
        let mut specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec.clone()).collect();
        if !specs.is_empty() {
            specs.push(recall::spec());
        }
        let tokens = specs.iter().map(ToolSpec::tokens).sum();
        Offer { tools, specs, tokens, missing, barred: None }
    }

    /// Nothing but the tool that reads back.
    pub fn of_recall() -> Offer {
        let specs = vec![recall::spec()];
        let tokens = specs.iter().map(ToolSpec::tokens).sum();
        Offer { specs, tokens, ..Offer::default() }
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

    /// All that may be called.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// The names that a model knows.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec.name.as_str())
    }

    /// Entries of the allow list that name nothing.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Tools that there were when the contract was settled and that it does not admit; `None` where none was settled.
    pub fn barred(&self) -> Option<&[Tool]> {
        self.barred.as_deref()
    }

    /// The tool that a call would change the world by.
    pub fn effect(&self, call: &ToolCall) -> Option<&Tool> {
        self.find(&call.name).filter(|tool| !tool.read_only)
    }

    /// Whether a call may be made again when its outcome is unknown.
    pub fn is_repeatable(&self, call: &ToolCall) -> bool {
        self.find(&call.name).is_none_or(|tool| tool.repeatable)
    }
}

/// What a list leaves out, and entries that name nothing.
fn sift(tools: &mut Vec<Tool>, entries: &[String], names: impl Fn(&str, &Tool) -> bool) -> Vec<String> {
    let named = |entry: &&String| !tools.iter().any(|tool| names(entry, tool));
    let missing = entries.iter().filter(named).cloned().collect();
    tools.retain(|tool| entries.iter().any(|entry| names(entry, tool)));
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(server: &str, name: &str) -> Tool {
        let spec_name = format!("{server}__{}", name.replace('.', "_"));
        let spec = ToolSpec { name: spec_name, description: String::new(), input_schema: json!({}) };
        Tool {
            server: server.into(),
            name: name.into(),
            spec,
            output_schema: None,
            repeatable: false,
            read_only: false,
            destructive: false,
        }
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
        assert_eq!(
            offered(&["GIT__Log", "READ_*"]),
            (vec!["git__log".into(), "fs__read_file".into()], vec![])
        );
    }

    #[test]
    fn what_names_nothing_is_said_and_nothing_else_gets_in() {
        let (names, missing) = offered(&["git__log", "lo", "git__", "web__*"]);
        assert_eq!((names, missing.len()), (vec!["git__log".to_owned()], 3));
        assert_eq!(offered(&[]), (vec![], vec![]));
    }

    fn cleared(allowed: Option<&[&str]>, banned: &[&str]) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let contract =
            Contract { allowed_tools: allowed.map(words), banned_tools: words(banned), ..contract() };
        let (offer, settled) = Offer::settle(&contract, all());
        let mut names: Vec<String> = offer.names().map(str::to_owned).collect();
        assert_eq!(offer.barred().unwrap().len() + names.len(), all().len());
        names.sort();
        assert_eq!(settled.allowed_tools, Some(names.clone()), "what is offered is what is settled");
        names
    }

    fn contract() -> Contract {
        Contract {
            phase: "write".into(),
            persona: Some("writer".into()),
            allowed_tools: None,
            banned_tools: Vec::new(),
            ..Contract::default()
        }
    }

    #[test]
    fn a_banned_tool_is_not_offered_however_either_list_writes_it() {
        assert_eq!(cleared(Some(&["LOG", "Read_File"]), &["Git.Log"]), ["fs__log", "fs__read_file"]);
        assert_eq!(cleared(Some(&["fs__log"]), &["FS__*"]), Vec::<String>::new());
        assert_eq!(cleared(None, &["log"]), ["fs__read_file", "git__diff_stat"]);
        assert_eq!(cleared(None, &[]).len(), 4);
        assert_eq!(cleared(Some(&[]), &[]).len(), 0);
        assert_eq!(cleared(Some(&["log & FS.*", "git__log & fs__log"]), &[]), ["fs__log"]);
    }

    #[test]
    fn reading_back_is_offered_only_beside_other_tools() {
        let offer = Offer::new(all(), None);
        assert_eq!((offer.specs(false).len(), offer.specs(true).len()), (4, 5));
        assert_eq!(offer.specs(true)[4].name, recall::NAME);
        let none = Offer::new(vec![], None);
        assert_eq!((none.specs(true).len(), none.tokens()), (0, 0));
    }
}
