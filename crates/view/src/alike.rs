//! Which questions may be answered together: those of one node that ask the same, whatever they ask it about.

use crate::node_of;
use convoke_model::{Ask, TaskId};

/// The same for questions that may be answered together: of one node, with the same choices; of calls, those of the same tools.
pub fn alike_key(task: &TaskId, ask: &Ask) -> String {
    let what: Vec<&str> = match ask {
        Ask::Choice { options, .. } => options.iter().map(|option| option.value.as_str()).collect(),
        Ask::Questions { .. } => Vec::new(),
        Ask::Plan { .. } => vec!["approve", "fail"],
        Ask::Unknown { .. } => vec!["retry", "fail"],
        Ask::Approval { calls, .. } => calls.iter().map(|call| call.tool.as_str()).collect(),
    };
    format!("{}/{}/{}", kind(ask), node_of(task), what.join(","))
}

/// The word for what is asked.
pub fn kind(ask: &Ask) -> &'static str {
    match ask {
        Ask::Choice { .. } => "choice",
        Ask::Questions { .. } => "questions",
        Ask::Plan { .. } => "plan",
        Ask::Unknown { .. } => "unknown",
        Ask::Approval { .. } => "approval",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{AskedCall, Digest};

    #[test]
    fn calls_of_the_same_tools_by_one_node_are_alike_whatever_their_arguments() {
        let ask = |tools: &[&str], arguments: &str| {
            let call = |tool: &&str| AskedCall {
                id: "1".into(),
                tool: (*tool).into(),
                server: "s".into(),
                arguments: arguments.into(),
                action: None,
                folder: None,
                reasons: Vec::new(),
                plan: Digest::of(arguments.as_bytes()),
                hash: Digest::of(arguments.as_bytes()),
            };
            Ask::Approval { prompt: "p".into(), calls: tools.iter().map(call).collect(), within_ms: 1 }
        };
        let key = |task: &str, ask: &Ask| alike_key(&TaskId(task.into()), ask);
        let one = key("clean[a]", &ask(&["s__rm"], "{\"x\":1}"));
        assert_eq!(one, key("clean[b]", &ask(&["s__rm"], "{\"x\":2}")));
        assert_ne!(one, key("other[a]", &ask(&["s__rm"], "{\"x\":1}")));
        assert_ne!(one, key("clean[a]", &ask(&["s__push"], "{\"x\":1}")));
        assert_ne!(one, key("clean[a]", &ask(&["s__rm", "s__rm"], "{\"x\":1}")));
    }
}
