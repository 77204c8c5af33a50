//! Performs the work with programs: asks the model, runs what it writes, writes down, stops where others must answer.
//!
//! Questions to the model go the way of every agent's: admitted, asked, settled, with fallback and time limits. What cannot
//! be taken back (a further question, a suspension) comes after what led to it is on disk.

use super::library::Library;
use super::runner::{Asks, ProgramRunner, Ran};
use super::session::{Session, Stage, Waiting};
use super::worker::Programs;
use super::{metadata, report, wording};
use crate::ask::Heard;
use crate::driver::unused;
use crate::fallback::Models;
use crate::ledger::Ledger;
use crate::talk::Talk;
use crate::{Finish, Purpose, Question, Reply, TurnRecord};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_failpoint::failpoint;
use convoke_model::{
    AttemptEnd, Class, Digest, Failure, JsonText, OutputSchema, Payload, ProgramCall, SubQuery, WaitsFor,
};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Everything that the work needs and does not change.
pub(crate) struct Programmer<'a> {
    /// How the model is asked.
    pub talk: Talk<'a>,
    pub call: &'a ProgramCall,
    pub programs: &'a dyn Programs,
}

/// How an attempt came to its end.
enum Closing {
    Finished(JsonText),
    Suspended { state: JsonText, sub_queries: Vec<SubQuery> },
}

/// What changes as it goes on.
pub(super) struct Going<'a, 'b> {
    pub session: &'b mut Session,
    runner: ProgramRunner<'a, 'b>,
    library: Arc<Library>,
    pub ledger: &'b mut Ledger<'a>,
    pub heard: &'b Heard<'a>,
    pub models: Models<'a>,
}

impl<'a> Programmer<'a> {
    /// Works to the end, until models must answer, or until `cancel` or the session's time cuts it off.
    pub async fn perform(&self, cancel: &CancellationToken) -> AttemptEnd {
        let mut session = match Session::resume(self.call, &self.talk.assignment.continues) {
            Ok(session) => session,
            Err(failure) => return unused(self.talk.named(failure)),
        };
        let mut ledger = Ledger::new(&self.call.agent.settings.pricing);
        let heard = Heard::new(self.talk.link, self.talk.contract);
        let closing = tokio::select! {
            biased;
            failure = self.talk.cut_off(cancel) => Err(failure),
            closing = self.work(&mut session, &mut ledger, &heard) => closing.map_err(|failure| self.talk.named(failure)),
        };
        let usage = ledger.close(&heard.into_text());
        match closing {
            Ok(Closing::Finished(output)) => AttemptEnd::Finished { output, usage },
            Ok(Closing::Suspended { state, sub_queries }) => {
                let waits_for = WaitsFor::Children(Payload::Inline(JsonText::of(&sub_queries)));
                AttemptEnd::Suspended { state, waits_for, usage }
            }
            Err(failure) => {
                let partial = session.unwritten_program().map(|program| JsonText::of(&program));
                AttemptEnd::Failed { failure, usage, partial }
            }
        }
    }

    async fn work(
        &self,
        session: &mut Session,
        ledger: &mut Ledger<'a>,
        heard: &Heard<'a>,
    ) -> Result<Closing, Failure> {
        let library = Arc::new(Library::new(&self.call.sources));
        let assignment = self.talk.assignment;
        let mut going = Going {
            session,
            runner: ProgramRunner::new(self.programs, &self.talk, self.call, library.clone()),
            library,
            ledger,
            heard,
            // Attempts that were suspended are none that failed.
            models: Models::new(&self.call.agent, None, &assignment.step, assignment.failures + 1),
        };
        let mut ran = self.resume(&mut going).await?;
        loop {
            let closing = match ran.take() {
                None if going.session.state.stage == Stage::Running => {
                    ran = Some(going.runner.run(going.session).await?);
                    None
                }
                None => {
                    self.ask(&mut going).await?;
                    None
                }
                Some(ran) => self.ran(&mut going, ran).await?,
            };
            if let Some(closing) = closing {
                return Ok(closing);
            }
        }
    }

    /// Gives a program that waited its answers, and resumes it where it stood.
    async fn resume(&self, going: &mut Going<'_, '_>) -> Result<Option<Ran>, Failure> {
        let Some((waiting, given)) = going.session.answered(&self.call.answers)? else { return Ok(None) };
        let Some(saved) = self.recall(&waiting).await else { return Ok(None) };
        going.runner.printed = waiting.printed;
        failpoint!("agent.program.before_resume");
        going.runner.resume(going.session, &saved, waiting.call, given).await
    }

    async fn recall(&self, waiting: &Waiting) -> Option<Vec<u8>> {
        let kept = self.talk.link.recall(waiting.saved?).await?;
        STANDARD.decode(kept.value().as_str()?).ok()
    }

    /// A program has stopped.
    async fn ran(&self, going: &mut Going<'_, '_>, ran: Ran) -> Result<Option<Closing>, Failure> {
        going.session.state.spent += std::mem::replace(&mut going.runner.spent, Duration::ZERO);
        let printed = std::mem::take(&mut going.runner.printed);
        match ran {
            Ran::Asks(asks) => {
                going.runner.printed = printed;
                return self.suspend(going, asks).await.map(Some);
            }
            Ran::Final(value) => match report::accepted(value, self.schema()) {
                Ok(result) => match self.reviewed(going, &result).await? {
                    None => return Ok(Some(self.finish(going, result))),
                    Some(issues) => going.session.rejected(self.call, &printed, &issues),
                },
                Err(why) => going.session.rejected(self.call, &printed, &why),
            },
            Ran::Ended(value) => going.session.ended(self.call, &printed, &value),
            Ran::Failed(trouble) => going.session.failed(self.call, &printed, &trouble)?,
        }
        going.runner.in_time(Some(going.session))?;
        Ok(None)
    }

    fn finish(&self, going: &Going<'_, '_>, result: Value) -> Closing {
        let mut usage = going.session.state.usage;
        usage += going.ledger.so_far();
        Closing::Finished(report::output(self.call, going.session, result, &usage))
    }

    /// The shape of the result. Answers to further questions have none.
    fn schema(&self) -> Option<&OutputSchema> {
        let settings = &self.call.agent.settings;
        settings.schema.as_ref().filter(|schema| self.call.depth == 0 && !settings.raw && !schema.is_empty())
    }

    /// Asks the model for the next program.
    async fn ask(&self, going: &mut Going<'_, '_>) -> Result<(), Failure> {
        if going.session.left(self.call).turns == 0 {
            return Err(out_of_turns(self.call.max_turns));
        }
        if going.session.messages().is_empty() {
            self.open(going).await?;
        }
        if going.session.is_due() {
            self.write_down(going, None).await?;
        }
        let question = Question {
            model: &self.call.agent.model,
            messages: Cow::Borrowed(going.session.messages()),
            schema: None,
            tools: &[],
            tool_tokens: 0,
            answered: None,
            purpose: Purpose::Program,
            call: going.session.state.turns + 1,
        };
        let reply = self.talk.ask_one_of(&mut going.models, &question, going.ledger, going.heard).await?;
        going.session.heard(self.call, &usable(reply)?);
        Ok(())
    }

    /// Says what it is about. Describing the outputs means reading all of them.
    async fn open(&self, going: &mut Going<'_, '_>) -> Result<(), Failure> {
        let (library, missing, budget) =
            (going.library.clone(), self.call.missing.clone(), self.call.metadata_chars);
        let described =
            tokio::task::spawn_blocking(move || metadata::describe(&library, &missing, budget)).await;
        let described = described
            .map_err(|error| Failure::new(Class::Fatal, format!("describing the outputs failed: {error}")))?;
        let system = wording::system(self.call, self.programs.guide(), self.schema());
        going.session.open(system, wording::opening(self.call, &described));
        Ok(())
    }

    async fn write_down(
        &self,
        going: &mut Going<'_, '_>,
        saved: Option<ProgramSnapshot>,
    ) -> Result<(), Failure> {
        let usage = going.ledger.take();
        going.session.state.usage += usage;
        let piece = going.session.take_delta(self.call, saved.as_ref().map(|kept| kept.digest));
        let kept = saved.into_iter().map(|kept| kept.text).collect();
        failpoint!("agent.program.before_record");
        let written = self.talk.link.record(TurnRecord::new(piece, kept, usage)).await;
        failpoint!("agent.program.recorded");
        if written.is_err() {
            going.ledger.put_back(usage);
        }
        written
    }

    /// Stops until models have answered. The program is put aside first. An attempt that finds it so, with no suspension
    /// behind it, runs the program again, which asks the same.
    async fn suspend(&self, going: &mut Going<'_, '_>, asks: Asks) -> Result<Closing, Failure> {
        failpoint!("agent.program.before_save");
        let saved = going.runner.save().await.map(|bytes| ProgramSnapshot::of(&bytes));
        failpoint!("agent.program.saved");
        let digest = saved.as_ref().map(|kept| kept.digest);
        if saved.is_some() {
            self.write_down(going, saved).await?;
        }
        let Asks { call, digest: called, asking } = asks;
        let printed = std::mem::take(&mut going.runner.printed);
        let sub_queries = asking.sub_queries.len() as u32;
        going.session.wait(Waiting {
            call,
            digest: called,
            form: asking.form,
            sub_queries,
            saved: digest,
            printed,
        });
        // What is not on a record yet is in the end of the attempt.
        going.session.state.usage += going.ledger.so_far();
        let state = going.session.take_delta(self.call, None);
        Ok(Closing::Suspended { state, sub_queries: asking.sub_queries })
    }
}

/// A program that was put aside.
struct ProgramSnapshot {
    text: JsonText,
    digest: Digest,
}

impl ProgramSnapshot {
    fn of(bytes: &[u8]) -> ProgramSnapshot {
        let text = JsonText::of(&STANDARD.encode(bytes));
        let digest = Digest::of(text.as_str().as_bytes());
        ProgramSnapshot { text, digest }
    }
}

/// The reply, if the model gave one of its own.
fn usable(reply: Reply) -> Result<Reply, Failure> {
    if reply.finish == Finish::Refusal {
        let message = format!("the model declined to answer: {}", reply.text.trim());
        return Err(Failure::new(Class::Refused, message).reason("refused"));
    }
    if reply.asks.is_some() {
        let message = "the model that writes programs asks for a person's permission, and programs are all it may write";
        return Err(Failure::new(Class::Fatal, message).reason("rlm_asks"));
    }
    Ok(reply)
}

fn out_of_turns(most: u32) -> Failure {
    let message = format!("there is no answer after {most} programs");
    Failure::new(Class::Fatal, message).reason("rlm_turns").hint("allow more with `rlm: {max_turns: …}`")
}
