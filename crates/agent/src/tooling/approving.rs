//! Which calls of a turn a person must allow, what the person is asked, and whether a call is the one that was allowed.
//!
//! A call is bound by the hash of its plan (tool, arguments, server, folder, what the toolbox says that it comes to) and of its
//! place in the run. What is shown is what is hashed, and what is made is what is shown: an approved call is made with the arguments in the form in which
//! they were read. Leaves the judgement of risks to `risk`, what a conversation keeps of rulings to `conversation`, and asking
//! to the engine.
//!
//! Invariant: a call that a person is asked about is made only under a ruling of its own hash that allows it, or because the person
//! has allowed its plan for the rest of the run.

use super::risk::{self, Looked, Risk};
use crate::{Asker, Conversation, Offer, Review, Tool, ToolCall, Toolbox};
use convoke_model::excerpt::clipped;
use convoke_model::{
    Approvals, AskedCall, Class, Digest, Failure, JsonText, Ruling, Server, Servers, TaskId, Transport,
    Verdict, canonical_json, reason, visible_json, visible_text,
};
use futures::future::join_all;
use serde_json::json;

/// Characters of what the agent was asked that a person is shown with its calls. What is bound is the calls, which are whole.
const CONTEXT: usize = 2_000;

/// Which rules judge risks and bind calls. What was allowed under others is asked about again.
const RULES: u32 = 1;

/// What may become of a call before it is made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Clearance {
    /// It is made.
    Free,
    /// A person allowed it: it is made once, with the arguments as the person read them.
    Approved(JsonText),
    /// It is not made, and the model is told why.
    Denied(String),
}

/// What was found about the calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// What may become of each, in their order.
    pub clearances: Vec<Clearance>,
    /// Those that a person must decide first, with their places. Then none of the turn is made yet.
    pub asked: Vec<(usize, AskedCall)>,
    /// Those that a person has allowed for the rest of the run, with their places.
    pub remembered: Vec<(usize, Ruling)>,
    /// What people should know.
    pub notes: Vec<(&'static str, String)>,
    /// Why the run ends here, if it does.
    pub end: Option<Failure>,
}

/// Looks at the calls of one attempt before they are made.
pub(crate) struct Approver<'a> {
    pub toolbox: &'a dyn Toolbox,
    pub asker: Asker<'a>,
    pub servers: &'a Servers,
    /// What is stated about approvals.
    pub approvals: &'a Approvals,
    /// The entries by which a file lists tools.
    pub listed: &'a [String],
    /// Where the agent works.
    pub folder: Option<&'a str>,
    /// The plans of calls that are allowed for the rest of the run.
    pub remembered: &'a [Digest],
    /// An attempt before this one may have made the calls already: then nothing more is asked about them.
    pub was_cut_off: bool,
}

/// What was found about one call.
pub(crate) enum Look {
    /// What may become of it is known.
    Clear(Clearance),
    /// A person must decide it first.
    Ask(AskedCall),
    /// A person has allowed it for the rest of the run: the ruling, and the arguments as they are bound.
    Remembered(Ruling, JsonText),
    /// The call is made without a question, because `approve: none` stands over these reasons.
    Waived(Vec<String>),
    /// That the call is wanted ends the run, for this reason.
    End(String),
}

impl Approver<'_> {
    /// Looks at every call of a turn.
    pub async fn look(&self, calls: &[ToolCall], offer: &Offer, conversation: &Conversation) -> Looks {
        let turn = conversation.turn_name();
        let looking = calls.iter().enumerate();
        let looking = looking.map(|(at, call)| {
            let (turn, ruling) = (&turn, conversation.ruling(at));
            async move {
                match offer.find(&call.name) {
                    Some(tool) => self.look_at((turn, at), tool, &call.arguments, ruling).await,
                    None => Look::Clear(Clearance::Free),
                }
            }
        });
        let mut looks = Looks::default();
        for (at, (look, call)) in join_all(looking).await.into_iter().zip(calls).enumerate() {
            let clearance = match look {
                Look::Clear(clearance) => clearance,
                Look::Ask(mut asked) => {
                    asked.id = (looks.asked.len() + 1).to_string();
                    looks.asked.push((at, asked));
                    Clearance::Free
                }
                Look::Remembered(ruling, arguments) => {
                    let message =
                        format!("a call of `{}` is made as remembered ({})", call.name, ruling.plan);
                    looks.notes.push(("approval_remembered", message));
                    looks.remembered.push((at, ruling));
                    Clearance::Approved(arguments)
                }
                Look::End(reason) => {
                    looks.end.get_or_insert_with(|| policy_violation(&call.name, &reason));
                    Clearance::Denied(reason)
                }
                Look::Waived(reasons) => {
                    let why = reasons.join("; ");
                    let message = format!("a call of `{}` is made unasked (approve: none): {why}", call.name);
                    looks.notes.push(("approval_waived", message));
                    Clearance::Free
                }
            };
            if let Clearance::Denied(why) = &clearance {
                looks.notes.push(("call_denied", format!("a call of `{}` is not made: {why}", call.name)));
            }
            looks.clearances.push(clearance);
        }
        looks
    }

    /// Looks at one call: a turn, and a place in it.
    pub async fn look_at(
        &self,
        place: (&str, usize),
        tool: &Tool,
        arguments: &JsonText,
        ruling: Option<&Ruling>,
    ) -> Look {
        // Such a call is not made again, and a ruling on it is used up.
        if self.was_cut_off && (!tool.repeatable || ruling.is_some()) {
            return Look::Clear(match ruling {
                Some(ruling) if ruling.verdict.allows() => Clearance::Approved(arguments.clone()),
                Some(ruling) => Clearance::Denied(refusal(ruling)),
                None => Clearance::Free,
            });
        }
        let arguments = JsonText::parse(visible_json(&arguments.value())).expect("it is JSON");
        let review = self.toolbox.review(self.asker, self.servers, tool, &arguments).await;
        if let Review::End { reason } = review {
            return Look::End(reason);
        }
        let plan = self.plan(tool, &arguments, &review);
        let hash = self.hash(plan, place);
        if let Some(ruling) = ruling {
            return Look::Clear(under(ruling, hash, &review, arguments));
        }
        let looked = Looked {
            tool,
            arguments: &arguments,
            review: &review,
            approvals: self.approvals,
            is_listed: self.is_listed(tool),
        };
        match risk::judge(looked) {
            Risk::None => Look::Clear(Clearance::Free),
            Risk::Waived(reasons) => Look::Waived(reasons),
            Risk::Refused(reason) => Look::Clear(Clearance::Denied(format!("it is refused: {reason}"))),
            Risk::Ask(_) if self.remembered.contains(&plan) => {
                let tool = tool.spec.name.clone();
                Look::Remembered(
                    Ruling { hash, plan, tool, verdict: Verdict::Remember, words: None },
                    arguments,
                )
            }
            Risk::Ask(_) if self.was_cut_off => Look::Clear(Clearance::Denied(
                "it needs the approval of a person now; call it again to ask for that".to_owned(),
            )),
            Risk::Ask(reasons) => Look::Ask(self.asked(tool, &arguments, &review, reasons, (plan, hash))),
        }
    }

    /// Whether a file lists the tool by its name: among the tools of the agent, or among those of its server.
    fn is_listed(&self, tool: &Tool) -> bool {
        let of_agent = self.approvals.listed.as_deref().unwrap_or(self.listed);
        let of_server = self.server(tool).and_then(|server| server.tools.as_deref());
        risk::is_listed(of_agent, tool) || of_server.is_some_and(|names| names.contains(&tool.name))
    }

    fn server(&self, tool: &Tool) -> Option<&Server> {
        self.servers.get(&tool.server)
    }

    fn asked(
        &self,
        tool: &Tool,
        arguments: &JsonText,
        review: &Review,
        reasons: Vec<String>,
        (plan, hash): (Digest, Digest),
    ) -> AskedCall {
        AskedCall {
            id: String::new(),
            tool: tool.spec.name.clone(),
            server: server_words(&tool.server, self.server(tool)),
            arguments: arguments.as_str().to_owned(),
            action: action(review).map(visible_text),
            folder: self.folder.map(visible_text),
            reasons: reasons.iter().map(|reason| visible_text(reason)).collect(),
            plan,
            hash,
        }
    }

    /// The hash of a plan at a place of the run: a turn of the conversation, and a place in the turn.
    fn hash(&self, plan: Digest, (turn, place): (&str, usize)) -> Digest {
        let Asker { task, key, .. } = self.asker;
        let whole = json!({ "plan": plan, "task": task, "key": key, "turn": turn, "place": place });
        Digest::of(canonical_json(&whole).as_bytes())
    }

    /// The hash of all that a call does.
    fn plan(&self, tool: &Tool, arguments: &JsonText, review: &Review) -> Digest {
        let server = self.server(tool).map(|server| &server.transport);
        let whole = json!({
            "rules": RULES,
            "server": tool.server,
            "transport": server,
            "tool": tool.name,
            "spec": tool.spec,
            "output_schema": tool.output_schema,
            "destructive": tool.destructive,
            "arguments": arguments.value(),
            "action": action(review),
            "folder": self.folder,
        });
        Digest::of(canonical_json(&whole).as_bytes())
    }
}

fn action(review: &Review) -> Option<&str> {
    match review {
        Review::Ask { action, .. } => Some(action),
        Review::Allow | Review::Deny { .. } | Review::End { .. } => None,
    }
}

/// The question about some calls: who wants to make them, and what the agent was asked.
pub(crate) fn question(step: &str, task: &TaskId, prompt: &str, asked: &[(usize, AskedCall)]) -> String {
    let what = match asked {
        [(_, call)] => format!("call `{}`", call.tool),
        _ => format!("make {} calls", asked.len()),
    };
    if prompt.trim().is_empty() {
        return format!("The step `{step}` (task `{task}`) wants to {what}.");
    }
    let context = visible_text(&clipped(prompt.trim(), CONTEXT));
    format!("The agent `{step}` (task `{task}`) wants to {what}. It was asked:\n{context}")
}

/// What a ruling comes to for the call as it is now.
fn under(ruling: &Ruling, hash: Digest, review: &Review, arguments: JsonText) -> Clearance {
    if !ruling.verdict.allows() {
        return Clearance::Denied(refusal(ruling));
    }
    if let Review::Deny { reason } = review {
        return Clearance::Denied(format!("it is refused: {reason}"));
    }
    match ruling.hash == hash {
        true => Clearance::Approved(arguments),
        false => Clearance::Denied(format!(
            "it is not the call that was allowed: what it would do has changed since (allowed {}, now {hash}); call it \
             again to ask for that",
            ruling.hash
        )),
    }
}

/// A call that a policy forbids, where that ends the run (`on_violation: hard_abort`).
pub(crate) fn policy_violation(tool: &str, why: &str) -> Failure {
    Failure::new(Class::Security, format!("a call of `{tool}` is forbidden: {why}"))
        .reason(reason::POLICY_VIOLATION)
        .hint("the policy says `on_violation: hard_abort`; change the prompt or the policy, then resume the run")
}

/// What the model is told of a call that a person did not allow.
pub(crate) fn refusal(ruling: &Ruling) -> String {
    match (ruling.verdict, &ruling.words) {
        (Verdict::Expired, _) => "nobody allowed it in time, which counts as a refusal".to_owned(),
        (_, Some(words)) if !words.trim().is_empty() => format!("a person refused it: {words}"),
        _ => "a person refused it".to_owned(),
    }
}

/// A server, and what it is. Commands and addresses are as the file has them: references stay references.
fn server_words(name: &str, server: Option<&Server>) -> String {
    let what = match server.map(|server| &server.transport) {
        None => return visible_text(name),
        Some(Transport::Stdio { command, args, .. }) => {
            std::iter::once(command).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        Some(Transport::Http { url, .. }) => url.clone(),
        Some(Transport::Scripts { .. }) => "commands of the file".to_owned(),
        Some(Transport::Own { .. }) => "Convoke's own".to_owned(),
    };
    visible_text(&format!("{name} ({what})"))
}
