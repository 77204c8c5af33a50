//! Performs a conversation: lists tools, writes down, asks, calls, keeps the ledger, stops in time.
//!
//! Leaves every decision to `Conversation`. What a step cannot take back is on disk before the step is made. An agent
//! without tools that answers at once costs one request and nothing else.

use crate::approving::{self, Approver, Clearance, Looks};
use crate::ask::Heard;
use crate::calls::{Caller, Made};
use crate::conversation::{Written, leftovers};
use crate::driver::unused;
use crate::fallback::Models;
use crate::ledger::Ledger;
use crate::proof::Checker;
use crate::refusals::Refusals;
use crate::tool_names;
use crate::{
    Conversation, Ending, EngineLink, Next, Note, Offer, Premise, Prover, Provider, Purpose, Report, Tool,
    Toolbox, TurnRecord,
};
use convoke_failpoint::failpoint;
use convoke_model::{
    AgentCall, Assignment, AttemptEnd, Class, Contract, EffectCommit, Failure, JsonText, Servers, WaitsFor,
    reason,
};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Tools that are told to stop get this long to say so.
const GRACE: Duration = Duration::from_secs(2);

/// Everything that a talk needs and does not change.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub assignment: &'a Assignment,
    /// What it may do and use, where that is stated: once its tools are settled, with these.
    pub contract: Option<&'a Contract>,
    pub call: &'a AgentCall,
    pub provider: &'a dyn Provider,
    pub toolbox: &'a dyn Toolbox,
    pub prover: &'a dyn Prover,
    pub link: &'a dyn EngineLink,
    pub refusals: &'a Refusals,
}

/// How a talk came to its end.
enum Closing {
    Ended(Ending),
    /// A person must decide this first.
    Suspended(JsonText),
}

impl From<Failure> for Closing {
    fn from(failure: Failure) -> Closing {
        Closing::Ended(Ending::Failed(failure))
    }
}

/// What a talk changes as it goes on.
struct Going<'a> {
    conversation: Conversation,
    ledger: Ledger<'a>,
    /// Tells tools to stop.
    stop: CancellationToken,
    /// Whether tools are being called.
    calling: &'a AtomicBool,
    /// An attempt before this one was cut off, perhaps among calls.
    was_cut_off: bool,
    /// Calls whose outcome is known and not on disk yet.
    committed: Vec<EffectCommit>,
    /// What may become of the calls of the turn, once they were looked at.
    clearances: Option<Vec<Clearance>>,
}

impl Talk<'_> {
    /// Talks to the end, or until `cancel` or the session's time cuts it off.
    pub async fn perform(&self, cancel: &CancellationToken) -> AttemptEnd {
        let mut cut_off = pin!(self.cut_off(cancel));
        let agreed = tokio::select! {
            biased;
            failure = &mut cut_off => return unused(failure),
            agreed = self.agree() => agreed,
        };
        match agreed {
            Ok((offer, None)) => self.begin(&offer, cut_off).await,
            Ok((offer, Some(settled))) => {
                Talk { contract: Some(&settled), ..*self }.begin(&offer, cut_off).await
            }
            Err(failure) => unused(failure),
        }
    }

    async fn begin(&self, offer: &Offer, cut_off: impl Future<Output = Failure>) -> AttemptEnd {
        let shown =
            self.call.settings.show_tools.then(|| (tool_names::named(self.call, offer), self.uncallable()));
        let (call, offer) = shown.as_ref().map_or((self.call, offer), |(call, offer)| (call, offer));
        let proof = self.assignment.proof.as_deref();
        let premise = Premise { call, step: &self.assignment.step, offer, contract: self.contract, proof };
        match self.conversation(&premise) {
            Ok(conversation) => self.continue_from(&premise, conversation, cut_off).await,
            Err(failure) => unused(failure),
        }
    }

    async fn continue_from(
        &self,
        premise: &Premise<'_>,
        conversation: Conversation,
        cut_off: impl Future<Output = Failure>,
    ) -> AttemptEnd {
        let (calling, stop) = (AtomicBool::new(false), CancellationToken::new());
        let was_cut_off = !self.assignment.continues.is_empty() && !conversation.begins_calls();
        let mut going = Going {
            conversation,
            ledger: Ledger::new(&self.call.settings.pricing),
            stop: stop.clone(),
            calling: &calling,
            was_cut_off,
            committed: Vec::new(),
            clearances: None,
        };
        if !self.caller(premise, &going).claims(&going.conversation).is_empty() {
            going.conversation.claim_again();
        }
        let heard = Heard::new(self.link, self.contract);
        let closing = {
            let mut talk = pin!(self.converse(premise, &mut going, &heard));
            tokio::select! {
                biased;
                failure = cut_off => {
                    stop.cancel();
                    if calling.load(Ordering::Relaxed) {
                        let _ = tokio::time::timeout(GRACE, &mut talk).await;
                    }
                    failure.into()
                }
                closing = &mut talk => closing,
            }
        };
        self.close(premise, going, closing, &heard.into_text())
    }

    fn close(&self, premise: &Premise<'_>, going: Going<'_>, closing: Closing, heard: &str) -> AttemptEnd {
        let Going { mut conversation, ledger, committed, .. } = going;
        // What was not recorded with a turn is recorded with the end.
        committed.into_iter().for_each(|commit| self.link.report(Report::EffectCommitted(commit)));
        failpoint!("agent.talk.closing");
        let usage = ledger.close(heard);
        match closing {
            Closing::Ended(Ending::Output(output)) => AttemptEnd::Finished { output, usage },
            Closing::Ended(Ending::Failed(failure)) => {
                AttemptEnd::Failed { failure, usage, partial: leftovers(conversation.rejected(), heard) }
            }
            Closing::Suspended(ask) => {
                let state = conversation.take_delta(premise).piece;
                AttemptEnd::Suspended { state, waits_for: WaitsFor::Gate(ask), usage }
            }
        }
    }

    /// The tools that the agent may use, and the contract with these. Where there are none, or it is a program that has its
    /// own, the toolbox is not asked for them.
    async fn agree(&self) -> Result<(Offer, Option<Contract>), Failure> {
        let settings = &self.call.settings;
        if settings.provider.program.is_some() {
            self.tell_unenforced();
            return Ok((self.uncallable(), None));
        }
        let allows_nothing = match self.contract.filter(|_| !settings.show_tools) {
            Some(contract) => contract.allows_nothing(),
            None => settings.tools.as_deref().is_some_and(<[String]>::is_empty),
        };
        let servers = self.reachable(&settings.servers);
        if servers.is_empty() || allows_nothing {
            return Ok((self.uncallable(), None));
        }
        let listed = self.toolbox.list(self.assignment.into(), &servers).await;
        let listed = listed.map_err(|failure| self.named(failure))?;
        // Tools that are only shown to the model cannot be called, so no contract is settled for them.
        match self.contract.filter(|_| !settings.show_tools) {
            Some(contract) => self.settle(contract, listed).await,
            None => Ok((self.told(Offer::new(listed, settings.tools.as_deref())), None)),
        }
    }

    /// The servers that an answer of the provider can ask something of. A name that says no server may be any server's.
    fn reachable<'s>(&self, servers: &'s Arc<Servers>) -> Cow<'s, Servers> {
        let Some(names) = self.provider.may_call(&self.assignment.step, &self.assignment.task) else {
            return Cow::Borrowed(servers);
        };
        let is_of =
            |name: &str, server: &str| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
        let is_named = |name: &String| servers.keys().any(|server| is_of(name, server));
        if !names.iter().all(is_named) {
            return Cow::Borrowed(servers);
        }
        let is_wanted = |server: &str| names.iter().any(|name| is_of(name, server));
        let wanted = servers.iter().filter(|(server, _)| is_wanted(server));
        Cow::Owned(wanted.map(|(name, server)| (name.clone(), server.clone())).collect())
    }

    /// From here on the contract's tools are names, and on disk before anything is asked.
    async fn settle(
        &self,
        contract: &Contract,
        listed: Vec<Tool>,
    ) -> Result<(Offer, Option<Contract>), Failure> {
        let (offer, settled) = Offer::settle(contract, listed);
        let names = settled.allowed_tools.clone().unwrap_or_default();
        failpoint!("agent.tools.listed");
        self.link.settle_tools(names).await.map_err(|failure| self.named(failure))?;
        failpoint!("agent.tools.settled");
        Ok((self.told(offer), Some(settled)))
    }

    /// Says which entries name nothing.
    fn told(&self, offer: Offer) -> Offer {
        for entry in offer.missing().iter().filter(|_| self.assignment.continues.is_empty()) {
            let message = format!("step `{}`: no server has a tool `{entry}`", self.assignment.step);
            self.link.report(Report::Noted { code: "tool_missing", message });
        }
        offer
    }

    /// A program that has tools of its own is not held to `tools` or to a clearance; that must not go unsaid.
    fn tell_unenforced(&self) {
        let is_limited = self.contract.map_or(self.call.settings.tools.is_some(), Contract::is_limit);
        if is_limited && self.assignment.continues.is_empty() {
            let step = &self.assignment.step;
            let message = format!(
                "step `{step}`: its agent has tools of its own, which `tools` and clearances do not reach"
            );
            self.link.report(Report::Noted { code: "clearance_unenforced", message });
        }
    }

    /// Without tools; what the prompt shows in part can still be read.
    fn uncallable(&self) -> Offer {
        let reads = !self.call.kept.is_empty() && self.call.settings.provider.program.is_none();
        if reads { Offer::of_recall() } else { Offer::default() }
    }

    /// A new conversation, or the one that an earlier attempt left behind.
    fn conversation(&self, premise: &Premise<'_>) -> Result<Conversation, Failure> {
        let mut conversation =
            Conversation::resume(premise, &self.assignment.past, &self.assignment.continues)?;
        if let Some(answer) = &self.assignment.answer {
            conversation.answer(answer.clone());
        }
        Ok(conversation)
    }

    async fn converse(&self, premise: &Premise<'_>, going: &mut Going<'_>, heard: &Heard<'_>) -> Closing {
        let mut models =
            Models::new(self.call, self.contract, &self.assignment.step, self.assignment.attempt);
        let mut told = 0;
        loop {
            self.listen(premise, going, &mut told);
            for Note { code, message } in going.conversation.take_notes() {
                self.link.report(Report::Noted { code, message });
            }
            if let Err(failure) = self.look_at_calls(premise, going).await {
                return failure.into();
            }
            let is_due = going.conversation.is_due(premise.offer);
            if (is_due || going.conversation.is_last_record_due(premise.offer))
                && let Err(failure) = self.write_down(premise, going).await
            {
                return failure.into();
            }
            match going.conversation.next(premise) {
                Next::Done(ending) => return Closing::Ended(ending.clone()),
                Next::Suspend(asks) => return Closing::Suspended(JsonText::of(&asks.ask)),
                Next::Approve(ask) => return Closing::Suspended(JsonText::of(ask)),
                Next::Ask(question) => {
                    let purpose = question.purpose;
                    let reply = self.ask_one_of(&mut models, &question, &mut going.ledger, heard).await;
                    match reply {
                        Err(failure) if self.is_left_to_another(purpose, &failure) => {
                            return self.of_validator(failure).into();
                        }
                        reply => {
                            // What a coding agent used, it used by itself.
                            let used = heard.take_called();
                            used.iter().for_each(|tool| going.conversation.note_tool(premise, tool));
                            going.conversation.feed(premise, reply);
                        }
                    }
                }
                Next::Prove => {
                    if let Err(failure) = self.look_at_work(premise, going).await {
                        return failure.into();
                    }
                }
                Next::Call(_) => {
                    if let Err(failure) = self.call_tools(premise, going).await {
                        return failure.into();
                    }
                }
            }
            going.was_cut_off = false;
        }
    }

    /// Hears what people have said to the task, and says how much of it was heard.
    fn listen(&self, premise: &Premise<'_>, going: &mut Going<'_>, told: &mut usize) {
        let since = self.link.guidance();
        if since.is_empty() && self.assignment.guidance.is_empty() {
            return;
        }
        let said: Vec<String> = self.assignment.guidance.iter().cloned().chain(since).collect();
        going.conversation.listen(premise, &said);
        let count = going.conversation.guidance_heard();
        if count > *told {
            self.link.report(Report::GuidanceHeard { count });
            *told = count;
        }
    }

    /// A validator that may be there in a further attempt is asked again in that one, which goes on here; only then does
    /// the answer pass without it.
    fn is_left_to_another(&self, purpose: Purpose, failure: &Failure) -> bool {
        purpose == Purpose::Grade && failure.keeps_conversation() && self.assignment.may_try_again(failure)
    }

    fn of_validator(&self, failure: Failure) -> Failure {
        let message = format!("the validator gave no verdict: {}", failure.message);
        self.named(Failure { message, ..failure })
    }

    /// Looks at calls before they are made, once; the conversation waits where a person must allow some of them.
    async fn look_at_calls(&self, premise: &Premise<'_>, going: &mut Going<'_>) -> Result<(), Failure> {
        if going.clearances.is_some() || going.conversation.calls().is_empty() {
            return Ok(());
        }
        let approver = Approver {
            toolbox: self.toolbox,
            asker: self.assignment.into(),
            servers: &self.call.settings.servers,
            approvals: self.contract.map_or(&self.call.settings.approvals, |contract| &contract.approvals),
            listed: self.call.settings.tools.as_deref().unwrap_or_default(),
            folder: self.folder(),
            remembered: &self.assignment.remembered,
            was_cut_off: going.was_cut_off,
        };
        let Looks { clearances, asked, remembered, notes, end } =
            approver.look(going.conversation.calls(), premise.offer, &going.conversation).await;
        if let Some(violation) = end {
            let message = violation.message.clone();
            self.link.report(Report::Noted { code: "security_violation", message });
            return Err(self.named(violation));
        }
        if asked.is_empty() {
            going.conversation.rule(remembered);
            going.clearances = Some(clearances);
        } else {
            // A turn that breaks a rule fails without a question to a person.
            let caller = self.caller(premise, going);
            caller
                .keep_to_contract(going.conversation.calls())
                .await
                .map_err(|failure| self.named(failure))?;
            let within = approver.approvals.within().as_millis() as u64;
            let prompt =
                approving::question(&self.assignment.step, &self.assignment.task, &self.call.prompt, &asked);
            going.conversation.ask_approval(prompt, asked, within);
            return Ok(());
        }
        notes.into_iter().for_each(|(code, message)| self.link.report(Report::Noted { code, message }));
        Ok(())
    }

    /// Where it works.
    fn folder(&self) -> Option<&str> {
        let agreed = self.contract.and_then(|contract| contract.working_dir.as_deref());
        agreed.or(self.call.working_dir.as_deref())
    }

    async fn call_tools(&self, premise: &Premise<'_>, going: &mut Going<'_>) -> Result<(), Failure> {
        let Next::Call(calls) = going.conversation.next(premise) else { return Ok(()) };
        going.calling.store(true, Ordering::Relaxed);
        failpoint!("agent.calls.claimed");
        let made = self.caller(premise, going).make(calls, &going.conversation).await;
        failpoint!("agent.calls.made");
        going.calling.store(false, Ordering::Relaxed);
        if going.stop.is_cancelled() {
            return Err(self.cancelled());
        }
        let Made { results, committed } = made.map_err(|failure| self.named(failure))?;
        going.committed.extend(committed);
        going.clearances = None;
        going.conversation.feed_results(premise, results);
        Ok(())
    }

    /// Has the work looked at that an answer stands for. What is being looked at ends with the talk.
    async fn look_at_work(&self, premise: &Premise<'_>, going: &mut Going<'_>) -> Result<(), Failure> {
        let (Some(proof), Some(output)) = (premise.proof, going.conversation.to_prove().cloned()) else {
            return Ok(());
        };
        let check = format!("{}{}", proof.about, going.conversation.turn_name());
        let checker = Checker { prover: self.prover, assignment: self.assignment, link: self.link };
        going.calling.store(true, Ordering::Relaxed);
        let called = going.conversation.called().clone();
        let found = checker.check(proof, &check, &output, &called, &going.stop).await;
        going.calling.store(false, Ordering::Relaxed);
        going.conversation.proved(premise, &found?);
        Ok(())
    }

    fn caller<'c>(&'c self, premise: &Premise<'c>, going: &'c Going<'_>) -> Caller<'c> {
        Caller {
            toolbox: self.toolbox,
            asker: self.assignment.into(),
            settings: &self.call.settings,
            offer: premise.offer,
            contract: self.contract,
            link: self.link,
            stop: &going.stop,
            was_cut_off: going.was_cut_off,
            known: &self.assignment.known_results,
            clearances: going.clearances.as_deref().unwrap_or_default(),
        }
    }

    async fn write_down(&self, premise: &Premise<'_>, going: &mut Going<'_>) -> Result<(), Failure> {
        let claimed = self.caller(premise, going).claims(&going.conversation);
        let Written { piece, kept } = going.conversation.take_delta(premise);
        let usage = going.ledger.take();
        let committed = std::mem::take(&mut going.committed);
        let record =
            TurnRecord { claimed, committed: committed.clone(), ..TurnRecord::new(piece, kept, usage) };
        failpoint!("agent.turn.before_record");
        let written = self.link.record(record).await;
        failpoint!("agent.turn.recorded");
        if written.is_err() {
            going.ledger.put_back(usage);
            going.committed = committed;
        }
        written
    }

    /// Ready when the talk must end, with the reason.
    pub(crate) async fn cut_off(&self, cancel: &CancellationToken) -> Failure {
        let agreed = self.contract.and_then(|contract| contract.timeout_ms).map(Duration::from_millis);
        let session = self.call.settings.session_timeout;
        let session = session.map(|session| agreed.map_or(session, |agreed| agreed.min(session)));
        tokio::select! {
            biased;
            () = cancel.cancelled() => self.cancelled(),
            () = time_out(session) => self.out_of_time(session.unwrap_or_default()),
        }
    }

    fn cancelled(&self) -> Failure {
        Failure::new(Class::Cancelled, format!("step `{}`: cancelled", self.assignment.step))
    }

    fn out_of_time(&self, session: Duration) -> Failure {
        let seconds = session.as_secs_f64();
        let step = &self.assignment.step;
        let message = format!("step `{step}`: the conversation timed out after {seconds} s");
        Failure::new(Class::Timeout, message).reason(reason::SESSION_TIMEOUT)
    }

    /// A failure that says whose it is.
    pub(crate) fn named(&self, mut failure: Failure) -> Failure {
        failure.message = format!("step `{}`: {}", self.assignment.step, failure.message);
        failure
    }
}

async fn time_out(session: Option<Duration>) {
    match session {
        Some(session) => tokio::time::sleep(session).await,
        None => std::future::pending().await,
    }
}
