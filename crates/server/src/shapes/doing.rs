//! What a task does between two events, in a few words: the tools that it calls, or the end of what it writes.

use convoke_journal::Saying;
use convoke_model::Timestamp;
use convoke_model::excerpt::last_chars;

/// Characters of what is written.
const TAIL: usize = 60;

/// What one task was heard to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Grows with every change.
    pub look: u64,
    /// When it was heard last: a sign of life.
    pub at: Timestamp,
    pub saying: Saying,
}

impl Heard {
    /// In a few words.
    pub fn words(&self) -> Option<String> {
        let Saying { text, tools, .. } = &self.saying;
        if !tools.is_empty() {
            return Some(format!("calls {}", tools.join(", ")));
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = last_chars(&line, TAIL);
        match (line.is_empty(), end.len() < line.len()) {
            (true, _) => None,
            (false, true) => Some(format!("writes …{end}")),
            (false, false) => Some(format!("writes {end}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::TaskId;

    #[test]
    fn tools_come_before_text_and_of_text_its_end() {
        let heard = |text: &str, tools: &[&str]| {
            let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
            let saying = Saying { task: TaskId("a".into()), text: text.to_owned(), dropped: 0, tools };
            Heard { look: 1, at: Timestamp(1), saying }.words()
        };
        assert_eq!(heard("", &[]), None);
        assert_eq!(heard("so", &["read", "list"]).as_deref(), Some("calls read, list"));
        assert_eq!(heard("one\n two", &[]).as_deref(), Some("writes one two"));
        assert_eq!(heard(&"é".repeat(70), &[]).unwrap(), format!("writes …{}", "é".repeat(60)));
    }
}
