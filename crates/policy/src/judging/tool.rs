//! Tools by name: what is denied stays denied, whatever allows it.

use crate::authority::{Action, Question, Resource};
use crate::policy::Policy;
use crate::verdict::{Judgement, Reason, Rule};

impl Policy {
    /// May a tool be called? `name` is the tool's, or `server__tool`.
    pub fn judge_tool(&self, name: &str) -> Judgement {
        let takes = |pattern: &String| wildcard(&pattern.to_lowercase(), &name.to_lowercase());
        let own = |pattern: &String| {
            let bare = name.rsplit_once("__").map_or(name, |(_, bare)| bare);
            takes(pattern) || wildcard(&pattern.to_lowercase(), &bare.to_lowercase())
        };
        let reason = if let Some(pattern) = self.tools.deny.iter().find(|pattern| own(pattern)) {
            Some(Reason::new(Rule::Denied, format!("the tool `{name}` is denied by `tools.deny: {pattern}`")))
        } else if self.tools.allow.iter().any(takes) {
            None
        } else {
            Some(Reason::new(
                Rule::Tool,
                format!("the tool `{name}` is not among those that the policy allows"),
            ))
        };
        let mut reasons: Vec<Reason> = reason.into_iter().collect();
        let opinions = match &self.authority {
            Some(authority) => {
                let (action, resource) = (Action::Tool(name.to_owned()), Resource::Tool(name.to_owned()));
                authority.ask(&self.actor, vec![Question { action, resource, access: None }], &mut reasons)
            }
            None => Vec::new(),
        };
        self.concluded(Judgement { opinions, ..Judgement::from_reasons(reasons, self.on_violation, None) })
    }
}

/// Whether a name is one of a pattern with `*`.
fn wildcard(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(
            wildcard("read_*", "read_file")
                && wildcard("*", "x")
                && wildcard("a*b*c", "a1b2c")
                && wildcard("x", "x")
        );
        assert!(
            !wildcard("read_*", "write_file")
                && !wildcard("x", "xy")
                && !wildcard("a*b", "a1c")
                && !wildcard("ab*ab", "ab")
        );
    }
}
