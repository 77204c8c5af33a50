//! Which calls of tools a person must allow before they are made.
//!
//! Here is what files and the configuration state, and which of several statements holds. Whether one call is among those
//! that are asked about is `agent`'s to judge (`risk`).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a person has to allow a call, where nothing is stated.
pub const APPROVAL_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// What is stated about approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approvals {
    /// Which calls are asked about.
    pub level: ApprovalLevel,
    /// Entries for tools whose calls are always asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// How long a person has to answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// The entries by which a file lists tools, where what the agent may use is not what the file lists: a model has chosen
    /// among them. A tool that a file lists by its name is consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Vec<String>>,
}

/// Which calls are asked about; the strictest is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalLevel {
    /// None but those that are named.
    None,
    /// Those of high risk.
    #[default]
    HighRisk,
    /// Every call that may change something.
    All,
}

impl ApprovalLevel {
    /// As files have it.
    pub const WORDS: &'static [&'static str] = &["none", "high-risk", "all"];

    /// The level that a word stands for.
    pub fn from_word(word: &str) -> Option<ApprovalLevel> {
        [ApprovalLevel::None, ApprovalLevel::HighRisk, ApprovalLevel::All]
            .into_iter()
            .find(|level| level.word() == word)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        ApprovalLevel::WORDS[self as usize]
    }
}

impl Approvals {
    /// Nothing but a level.
    pub fn of(level: ApprovalLevel) -> Approvals {
        Approvals { level, ..Approvals::default() }
    }

    /// Whether nothing is stated.
    pub fn is_default(&self) -> bool {
        *self == Approvals::default()
    }

    /// What holds where both are stated: whatever either asks about is asked about, and for the shorter time.
    pub fn strictest(mut self, other: &Approvals) -> Approvals {
        self.level = self.level.max(other.level);
        let new = other.tools.iter().filter(|entry| !self.tools.contains(entry)).cloned();
        let new: Vec<String> = new.collect();
        self.tools.extend(new);
        self.within_ms = self.within_ms.into_iter().chain(other.within_ms).min();
        self
    }

    /// What holds of several statements; the default where there is none.
    pub fn holding<'a>(stated: impl IntoIterator<Item = &'a Approvals>) -> Approvals {
        let mut stated = stated.into_iter();
        let Some(first) = stated.next().cloned() else { return Approvals::default() };
        stated.fold(first, |holding, other| holding.strictest(other))
    }

    /// How long a person has to answer.
    pub fn within(&self) -> Duration {
        self.within_ms.map_or(APPROVAL_TIME, Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_statements_the_strictest_holds_and_the_default_only_where_there_is_none() {
        let none = Approvals::of(ApprovalLevel::None);
        let named = Approvals {
            tools: vec!["fs__write".into()],
            within_ms: Some(9_000),
            ..Approvals::of(ApprovalLevel::None)
        };
        let all = Approvals { within_ms: Some(5_000), ..Approvals::of(ApprovalLevel::All) };
        assert_eq!(Approvals::holding([]).level, ApprovalLevel::HighRisk);
        assert_eq!(Approvals::holding([&none]).level, ApprovalLevel::None);
        let both = Approvals::holding([&none, &named, &named]);
        assert_eq!((both.level, both.tools.len()), (ApprovalLevel::None, 1));
        let strict = Approvals::holding([&named, &all]);
        assert_eq!(strict, Approvals::holding([&all, &named]));
        assert_eq!((strict.level, strict.within_ms), (ApprovalLevel::All, Some(5_000)));
        assert_eq!(strict.tools, ["fs__write"]);
    }

    #[test]
    fn words_stand_for_levels() {
        for word in ApprovalLevel::WORDS {
            assert_eq!(ApprovalLevel::from_word(word).unwrap().word(), *word);
        }
        assert_eq!(ApprovalLevel::from_word("some"), None);
    }
}
