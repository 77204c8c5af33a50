//! Whether a person must allow a call: a pure judgement of one call by what is known of it before it is made.
//!
//! A server's hints and a tool's name are words of others: they can make a call look worse and never better, so a tool that
//! says it only reads is asked about where its name says otherwise. What does count in favour of a call is the person's own
//! word: a file that lists the tool by its name, or `approve: none`. No such word helps against a refusal of the toolbox.
//! What is asked about, and how the answer is bound to the call, is `approving`'s.

use crate::{Review, Tool};
use convoke_model::{ApprovalLevel, Approvals, JsonText};
use serde_json::Value;

/// The server's name under which Convoke's own tools stand. Of these alone it is known that they only read.
pub(crate) const OWN_SERVER: &str = "convoke";

/// Words in a tool's name, or in an argument that says what it is to do, that make a call one of high risk.
const RISKY: &[(&str, &str)] = &[
    ("delete", DELETES),
    ("deletes", DELETES),
    ("del", DELETES),
    ("remove", DELETES),
    ("removes", DELETES),
    ("rm", DELETES),
    ("rmdir", DELETES),
    ("unlink", DELETES),
    ("erase", DELETES),
    ("destroy", DELETES),
    ("drop", DELETES),
    ("purge", DELETES),
    ("wipe", DELETES),
    ("truncate", DELETES),
    ("trash", DELETES),
    ("uninstall", DELETES),
    ("push", PUSHES),
    ("publish", PUSHES),
    ("deploy", PUSHES),
    ("pay", PAYS),
    ("payment", PAYS),
    ("payments", PAYS),
    ("payout", PAYS),
    ("purchase", PAYS),
    ("buy", PAYS),
    ("charge", PAYS),
    ("refund", PAYS),
    ("transfer", PAYS),
    ("withdraw", PAYS),
];
const DELETES: &str = "deletes something";
const PUSHES: &str = "pushes or publishes something";
const PAYS: &str = "moves money";

/// Beginnings of words that are written as one with what follows: `deleteall`, `purgecache`.
const STEMS: &[&str] = &["delete", "remove", "destroy", "purge", "erase", "unlink", "truncate", "payment"];

/// Arguments that say what a tool is to do, where one tool does several things.
const DOING: &[&str] =
    &["method", "action", "operation", "op", "verb", "command", "cmd", "query", "sql", "statement"];

/// All that a call is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked<'a> {
    pub tool: &'a Tool,
    pub arguments: &'a JsonText,
    /// What the toolbox says of it.
    pub review: &'a Review,
    pub approvals: &'a Approvals,
    /// Whether a file that the person ran lists the tool by its name.
    pub is_listed: bool,
}

/// What is to be done with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Risk {
    /// It is made.
    None,
    /// It is made because approvals are switched off; else a person would be asked, for these reasons.
    Waived(Vec<String>),
    /// A person is asked, for these reasons.
    Ask(Vec<String>),
    /// It is not made, for this reason.
    Refused(String),
}

/// Judges one call.
pub(crate) fn judge(looked: Looked<'_>) -> Risk {
    if let Review::Deny { reason } | Review::End { reason } = looked.review {
        return Risk::Refused(reason.clone());
    }
    let stated = stated(looked);
    let found = of_high_risk(looked);
    let reasons: Vec<String> = match looked.approvals.level {
        // What is named is asked about at every level.
        ApprovalLevel::None if stated.is_none() && !found.is_empty() => return Risk::Waived(found),
        ApprovalLevel::None => stated.into_iter().collect(),
        ApprovalLevel::HighRisk => stated.into_iter().chain(found).collect(),
        ApprovalLevel::All => {
            let every =
                may_change(looked.tool).then(|| "every call is asked about (approve: all)".to_owned());
            stated.into_iter().chain(found).chain(every).collect()
        }
    };
    if reasons.is_empty() { Risk::None } else { Risk::Ask(reasons) }
}

/// Why a call is asked about that is named in `approve`.
fn stated(looked: Looked<'_>) -> Option<String> {
    let named = |entry: &&String| looked.tool.names().is_in_any_case(entry);
    let entry = looked.approvals.tools.iter().find(named)?;
    Some(format!("`approve` names it (`{entry}`)"))
}

/// Why a call is one of high risk. A tool that is listed by its name is consented to, whatever it says of itself; what the
/// toolbox asks about is this very call, which the author of the list has not seen.
fn of_high_risk(looked: Looked<'_>) -> Vec<String> {
    let Looked { tool, arguments, review, is_listed, .. } = looked;
    let mut reasons = Vec::new();
    if let Review::Ask { reason, .. } = review {
        reasons.push(reason.clone());
    }
    if is_listed || tool.server == OWN_SERVER {
        return reasons;
    }
    if tool.destructive {
        reasons.push(format!("its server `{}` says that it may destroy something", tool.server));
    }
    if let Some((word, what)) = risky_word(&tool.name) {
        reasons.push(format!("by its name it {what} (`{word}`)"));
    }
    if let Some((argument, word, what)) = risky_argument(arguments) {
        reasons.push(format!("by its argument `{argument}` it {what} (`{word}`)"));
    }
    reasons
}

/// Whether a call may change something. Only of our own tools is it known that they do not.
fn may_change(tool: &Tool) -> bool {
    !(tool.server == OWN_SERVER && tool.read_only)
}

/// The first word of a name that makes a call one of high risk, and why.
fn risky_word(name: &str) -> Option<(String, &'static str)> {
    words(name).into_iter().find_map(|word| {
        let known = RISKY.iter().find(|(risky, _)| *risky == word);
        let stem = || {
            let stem = STEMS.iter().find(|stem| word.starts_with(*stem))?;
            // `deleted` and `removed` say what something is, not what is done.
            (!word.ends_with('d')).then(|| RISKY.iter().find(|(risky, _)| risky == stem))?
        };
        known.or_else(stem).map(|(_, what)| (word, *what))
    })
}

/// The argument that says that a call does something of high risk.
fn risky_argument(arguments: &JsonText) -> Option<(String, String, &'static str)> {
    let Value::Object(arguments) = arguments.value() else { return None };
    let doing = |key: &String| DOING.contains(&key.to_lowercase().as_str());
    arguments.iter().filter(|(key, _)| doing(key)).find_map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            _ => return None,
        };
        risky_word(&text).map(|(word, what)| (key.clone(), word, what))
    })
}

/// The words of a name, in lower case: between signs, and where a capital begins a new one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let is_new = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphanumeric() || is_new {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether entries list a tool by its name: one that stands for it and has no `*`. Of two that must both stand for it, one
/// such is enough.
pub(crate) fn is_listed(entries: &[String], tool: &Tool) -> bool {
    let by_name = |entry: &str| entry.split('&').any(|part| !part.contains('*'));
    entries.iter().any(|entry| by_name(entry) && tool.names().is_in_any_case(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolSpec;
    use serde_json::json;

    fn tool(server: &str, name: &str) -> Tool {
        let spec = ToolSpec {
            name: format!("{server}__{name}"),
            description: String::new(),
            input_schema: json!({}),
        };
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

    fn ask() -> Review {
        Review::Ask { action: "rm -rf /x".into(), reason: "the policy asks".into() }
    }

    fn approvals(level: ApprovalLevel, tools: &[&str]) -> Approvals {
        Approvals { tools: tools.iter().map(|tool| tool.to_string()).collect(), ..Approvals::of(level) }
    }

    /// `-` made, `w` waived, `?` asked, `x` refused.
    fn of(tool: &Tool, review: &Review, approvals: &Approvals, is_listed: bool) -> char {
        judged(tool, json!({}), review, approvals, is_listed)
    }

    fn judged(
        tool: &Tool,
        arguments: Value,
        review: &Review,
        approvals: &Approvals,
        is_listed: bool,
    ) -> char {
        let arguments = JsonText::of(&arguments);
        match judge(Looked { tool, arguments: &arguments, review, approvals, is_listed }) {
            Risk::None => '-',
            Risk::Waived(reasons) if !reasons.is_empty() => 'w',
            Risk::Ask(reasons) if !reasons.is_empty() => '?',
            Risk::Refused(_) => 'x',
            odd => panic!("{odd:?} has no reasons"),
        }
    }

    #[test]
    fn the_table_of_risks() {
        use ApprovalLevel::{All, HighRisk, None};
        let plain = tool("s", "get");
        let named = tool("s", "delete_all");
        let hinted = Tool { destructive: true, ..tool("s", "tidy") };
        let liar = Tool { read_only: true, ..tool("s", "delete_all") };
        let reader = Tool { read_only: true, ..tool("s", "get") };
        let both = Tool { read_only: true, destructive: true, ..tool("s", "get") };
        let own = tool(OWN_SERVER, "write_file");
        let own_reader = Tool { read_only: true, ..tool(OWN_SERVER, "read_file") };
        let (allow, ask, deny) = (Review::Allow, ask(), Review::Deny { reason: "no".into() });
        // The tool, the review, listed or not; then what follows at none, high-risk and all.
        let table = [
            (&plain, &allow, false, "--?"),
            (&plain, &allow, true, "--?"),
            (&named, &allow, false, "w??"),
            (&named, &allow, true, "--?"),
            (&hinted, &allow, false, "w??"),
            (&hinted, &allow, true, "--?"),
            (&liar, &allow, false, "w??"),
            (&liar, &allow, true, "--?"),
            (&reader, &allow, false, "--?"),
            (&both, &allow, false, "w??"),
            (&own, &allow, false, "--?"),
            (&own_reader, &allow, false, "---"),
            (&own_reader, &allow, true, "---"),
            (&plain, &ask, false, "w??"),
            (&plain, &ask, true, "w??"),
            (&own, &ask, true, "w??"),
            (&own_reader, &ask, true, "w??"),
            (&plain, &deny, true, "xxx"),
            (&named, &deny, false, "xxx"),
        ];
        for (tool, review, is_listed, expected) in table {
            let found: String = [None, HighRisk, All]
                .map(|level| of(tool, review, &approvals(level, &[]), is_listed))
                .iter()
                .collect();
            assert_eq!(found, expected, "{} {review:?} listed: {is_listed}", tool.spec.name);
        }
    }

    #[test]
    fn what_approve_names_is_asked_about_at_every_level_and_however_it_is_listed() {
        let reader = Tool { read_only: true, ..tool(OWN_SERVER, "read_file") };
        for entry in ["read_file", "convoke__*", "READ_*", "convoke.read_file", "*"] {
            for level in [ApprovalLevel::None, ApprovalLevel::HighRisk, ApprovalLevel::All] {
                assert_eq!(of(&reader, &Review::Allow, &approvals(level, &[entry]), true), '?', "{entry}");
            }
        }
        assert_eq!(
            of(&reader, &Review::Allow, &approvals(ApprovalLevel::HighRisk, &["write_*"]), false),
            '-'
        );
    }

    #[test]
    fn names_say_what_is_of_high_risk() {
        let asks = |name: &str| {
            of(&tool("s", name), &Review::Allow, &approvals(ApprovalLevel::HighRisk, &[]), false) == '?'
        };
        for name in [
            "delete",
            "delete_all",
            "deleteAll",
            "DeleteAll",
            "DELETE_ALL",
            "deleteall",
            "repo.delete",
            "git-push",
            "push_files",
            "removeUser",
            "rm",
            "drop_table",
            "make_payment",
            "pay",
            "send-payment",
            "buy_item",
            "create_refund",
            "bank:transfer",
            "purgecache",
            "force_push",
            "unlink",
            "deploy",
            "paymentsSend",
        ] {
            assert!(asks(name), "{name}");
        }
        for name in [
            "get",
            "list_deleted",
            "removed_items",
            "dropdown_values",
            "display",
            "repay_schedule_view_",
            "armor",
            "pushover_status",
            "payload",
            "spay",
            "firm",
            "write_file",
            "search",
        ] {
            assert!(!asks(name), "{name}");
        }
    }

    #[test]
    fn an_argument_can_only_raise_the_risk() {
        let high = approvals(ApprovalLevel::HighRisk, &[]);
        let of = |arguments: Value, is_listed| {
            judged(&tool("s", "http"), arguments, &Review::Allow, &high, is_listed)
        };
        for arguments in [
            json!({"method": "DELETE", "url": "x"}),
            json!({"Command": "git push --force"}),
            json!({"cmd": ["rm", "-rf", "x"]}),
            json!({"sql": "select 1; drop table t"}),
        ] {
            assert_eq!(of(arguments.clone(), false), '?', "{arguments}");
            assert_eq!(of(arguments, true), '-', "consented to");
        }
        for arguments in
            [json!({"method": "GET"}), json!({"text": "delete"}), json!(["delete"]), json!({"sql": 1})]
        {
            assert_eq!(of(arguments.clone(), false), '-', "{arguments}");
        }
        let harmless = judged(&tool("s", "delete"), json!({"method": "GET"}), &Review::Allow, &high, false);
        assert_eq!(harmless, '?');
    }

    #[test]
    fn only_a_name_lists_a_tool() {
        let listed = |entries: &[&str]| {
            let entries: Vec<String> = entries.iter().map(|entry| entry.to_string()).collect();
            is_listed(&entries, &tool("s", "delete_all"))
        };
        for entry in ["delete_all", "s__delete_all", "s.delete_all", "S/DELETE_ALL", "delete_all & s__*"] {
            assert!(listed(&[entry]), "{entry}");
        }
        for entry in
            ["*", "s__*", "delete_*", "delete", "t__delete_all", "s__* & delete_*", "delete_all & t.x"]
        {
            assert!(!listed(&[entry]), "{entry}");
        }
        assert!(!listed(&[]));
    }
}
