//! An agent's permission requests: what each is about, whether a person must decide, and the decision.
//!
//! A request is known again by all that it is about: title, kind, what the tool is given, the files and the changes to them.
//! Ids of calls and options are left out, because they may be others after a restart. A decision is applied once, and
//! where anything differs the person is asked again: a yes to one command is no yes to another of the same title.

use super::turn::{Tools, kind};
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolCall, ToolCallContent, ToolKind,
};
use convoke_model::excerpt::clipped;
use convoke_model::{Ask, AskOption, Contract, Digest, Permissions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Titles may be whole scripts; this much of one tells it from others.
const MOST_TITLE: usize = 500;

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The agent's id of the call, while its process lives.
    call: String,
    title: String,
    /// What the agent calls the tool, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    kind: ToolKind,
    /// All that it is about; those of older versions do not say.
    #[serde(default)]
    about: Option<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
    options: Vec<PermissionOption>,
}

/// What a person decided about a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    #[serde(default)]
    about: Option<Digest>,
    option: PermissionOption,
}

impl PermissionRequest {
    /// A request, with what the agent has told about the call before.
    pub fn new(request: RequestPermissionRequest, known: &Tools) -> PermissionRequest {
        let id = request.tool_call.tool_call_id.clone();
        let mut call = known.get(&id).cloned().unwrap_or_else(|| ToolCall::new(id, "something"));
        call.update(request.tool_call.fields);
        let (about, details) = (Some(about(&call)), details(&call));
        let title = clipped(call.title.trim(), MOST_TITLE);
        // What agents attach for editors may be large, and no code here reads it.
        let options = request.options.into_iter().map(|option| option.meta(None)).collect();
        let name = call.name.clone().map(|name| clipped(name.trim(), MOST_TITLE));
        PermissionRequest {
            call: call.tool_call_id.to_string(),
            title,
            name,
            kind: call.kind,
            about,
            details,
            options,
        }
    }

    /// Whether both are about the same thing.
    pub fn is_like(&self, decision: &Decision) -> bool {
        self.about.is_some() && self.about == decision.about
    }

    /// What it is about, in short.
    pub fn in_words(&self) -> String {
        format!("{}: {}", verb(self.kind), self.title)
    }

    /// The question to a person.
    pub fn question(&self, step: &str) -> Ask {
        let mut prompt = format!("`{step}` asks for permission to {}", self.in_words());
        for detail in &self.details {
            prompt.push_str("\n  ");
            prompt.push_str(detail);
        }
        let option = |option: &PermissionOption| AskOption {
            label: option.name.clone(),
            value: option.option_id.to_string(),
            prompt_for: None,
            multiline: false,
        };
        Ask::Choice { prompt, options: self.options.iter().map(option).collect(), default: None }
    }

    /// The decision that a chosen value stands for.
    pub fn decided(&self, value: &str) -> Option<Decision> {
        let option = self.options.iter().find(|option| &*option.option_id.0 == value)?.clone();
        Some(Decision { about: self.about, option })
    }

    /// The outcome, where no person needs to be asked. A contract goes over what is permitted otherwise.
    pub fn settled(
        &self,
        permissions: Permissions,
        contract: Option<&Contract>,
    ) -> Option<RequestPermissionOutcome> {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
        if contract.is_some_and(|contract| self.is_barred_by(contract)) {
            return Some(self.first_of(&[RejectOnce]));
        }
        match permissions {
            Permissions::Ask => None,
            Permissions::Allow => Some(self.first_of(&[AllowOnce, AllowAlways])),
            Permissions::Deny => Some(self.first_of(&[RejectOnce])),
        }
    }

    /// Whether a contract has no room for it. Agents name their tools as they like: what it calls the tool counts, and the
    /// kind of thing that it does; a title is free text, but it may be what a ban names.
    pub fn is_barred_by(&self, contract: &Contract) -> bool {
        let words: Vec<&str> = self.name.as_deref().into_iter().chain([kind(self.kind)]).collect();
        !contract.admits_words(&words) || contract.bans(&self.title)
    }

    /// The outcome of a decision about the same thing: the same option, or one of the same kind.
    pub fn outcome(&self, decision: &Decision) -> RequestPermissionOutcome {
        let same = self.options.iter().find(|option| **option == decision.option);
        same.map_or_else(|| self.first_of(&[decision.option.kind]), selected)
    }

    fn first_of(&self, kinds: &[PermissionOptionKind]) -> RequestPermissionOutcome {
        let of_kind = |kind: &PermissionOptionKind| self.options.iter().find(|option| option.kind == *kind);
        kinds.iter().find_map(of_kind).map_or(RequestPermissionOutcome::Cancelled, selected)
    }

    /// Whether an outcome is a no to this request.
    pub fn is_denied_by(&self, outcome: &RequestPermissionOutcome) -> bool {
        let RequestPermissionOutcome::Selected(selected) = outcome else { return true };
        let option = self.options.iter().find(|option| option.option_id == selected.option_id);
        option.is_none_or(|option| {
            matches!(option.kind, PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways)
        })
    }
}

fn selected(option: &PermissionOption) -> RequestPermissionOutcome {
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
}

/// All that decides whether two calls are the same.
fn about(call: &ToolCall) -> Digest {
    let changes = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(json!([diff.path, diff.old_text, diff.new_text])),
        _ => None,
    });
    let places = call.locations.iter().map(|place| &place.path);
    let mut about = json!({
        "title": call.title,
        "kind": call.kind,
        "name": call.name,
        "input": call.raw_input,
        "files": places.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    });
    about.sort_all_objects();
    Digest::of(about.to_string().as_bytes())
}

/// What a person must see to decide: the command, and the files.
fn details(call: &ToolCall) -> Vec<String> {
    let command = call.raw_input.as_ref().and_then(|input| input.get("command")).and_then(words);
    let command =
        command.filter(|command| *command != call.title).map(|command| format!("command: {command}"));
    let places = call.locations.iter().map(|place| match place.line {
        Some(line) => format!("file: {}:{line}", place.path.display()),
        None => format!("file: {}", place.path.display()),
    });
    let changes = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(format!("file: {}", diff.path.display())),
        _ => None,
    });
    let mut details: Vec<String> = Vec::new();
    for detail in command.into_iter().chain(places).chain(changes) {
        let detail = clipped(detail.trim(), 4 * MOST_TITLE);
        if !details.contains(&detail) {
            details.push(detail);
        }
    }
    details
}

/// A command as one text, however it is given.
fn words(command: &Value) -> Option<String> {
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

fn verb(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "run",
        ToolKind::Think => "think about",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch its mode",
        _ => "use a tool",
    }
}
