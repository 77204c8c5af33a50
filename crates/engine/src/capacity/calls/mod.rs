//! Calls to models: what each needs, waits for, holds, and what it used. Pure.
//!
//! An attempt makes its calls one after the other, so at most one is open per task. The slots of the first came with the
//! attempt's permit; all others ask for slots, rates and money together.
//!
//! Here: the calls that are open. `ask` leads a call from its demand to its permit, `postponed` keeps it
//! while its service is paused, `refuse` tells that it may not be made, `end`
//! settles what it used, and `failures` are the messages.

mod ask;
mod end;
mod failures;
mod postponed;
mod refuse;

pub(crate) use failures::{has_another_way, left_alone, too_much};

use crate::capacity::metrics::Flow;
use crate::capacity::services::Service;
use crate::capacity::terms::CallNo;
use crate::fact::CallReply;
use convoke_agent::CallDemand;
use convoke_govern::ResourceId;
use convoke_model::hash::HashMap;
use convoke_model::{Timestamp, Usage};
use convoke_schedule::TaskIx;
use std::sync::Arc;

/// The calls that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    last: u64,
    open: HashMap<CallNo, Call>,
    of_task: HashMap<TaskIx, CallNo>,
    /// Calls that money was set aside for in this turn.
    reserved: Vec<CallNo>,
    /// Calls that have all that they need, and whose services are paused until then.
    postponed: Vec<(Timestamp, CallNo)>,
    /// The worst case of calls whose end is unknown, since it was last told.
    lost: Vec<(TaskIx, Usage)>,
    /// The calls under way, and how many there were.
    pub flow: Flow,
}

/// A call from the moment that something is held for it.
#[derive(Debug)]
struct Call {
    task: TaskIx,
    /// What it goes to, as far as that is counted.
    service: Option<Arc<Service>>,
    /// What holds its permits, once they are granted.
    keys: Vec<u64>,
    /// What it asked for, and where the answer goes; `None` for a first call that the attempt has not asked for yet.
    asked: Option<(CallDemand, Option<CallReply>)>,
    model: Box<str>,
    /// It goes to the step's own model, and others can be asked instead.
    own: bool,
    /// It may not be made: nothing of it was used.
    refused: bool,
    /// When it could be made.
    sent: Option<Timestamp>,
    /// What it was counted on without a lease, because no limit was known.
    unleased: Vec<ResourceId>,
    /// It is written down what it can cost.
    on_record: bool,
}

impl OpenCalls {
    fn begin(&mut self, call: Call) -> CallNo {
        self.last += 1;
        let no = CallNo(self.last);
        self.of_task.insert(call.task, no);
        self.open.insert(no, call);
        no
    }

    fn close(&mut self, task: TaskIx) -> Option<(CallNo, Call)> {
        let no = self.of_task.remove(&task)?;
        self.open.remove(&no).map(|call| (no, call))
    }

    /// A task has ended, and its call may still be under way.
    pub fn orphan(&mut self, task: TaskIx) -> Option<CallNo> {
        self.of_task.remove(&task)
    }

    /// Whether a call is to this model already, or was before a budget refused it.
    fn has_asked_for(&self, call: CallNo, model: &str) -> bool {
        self.open.get(&call).is_some_and(|call| {
            let refused = call.asked.iter().flat_map(|(demand, _)| &demand.refused);
            *call.model == *model || refused.into_iter().any(|before| before == model)
        })
    }

    /// The calls that may be made after this turn, and their worst case. They are on record from here on. One that is closed
    /// already is never made.
    pub fn take_reserved(&mut self) -> Vec<(TaskIx, Usage)> {
        let reserved = std::mem::take(&mut self.reserved);
        let worst = |no: CallNo| {
            let call = self.open.get_mut(&no)?;
            call.on_record = true;
            Some((call.task, call.worst()?))
        };
        reserved.into_iter().filter_map(worst).collect()
    }

    /// The worst case of calls whose end is unknown.
    pub fn take_lost(&mut self) -> Vec<(TaskIx, Usage)> {
        std::mem::take(&mut self.lost)
    }

    /// Whether a task waits for a call.
    pub fn waits(&self, task: TaskIx) -> bool {
        let call = self.of_task.get(&task).and_then(|no| self.open.get(no));
        call.is_some_and(Call::is_waiting)
    }

    /// Whose call it is.
    pub fn task_of(&self, call: CallNo) -> Option<TaskIx> {
        self.open.get(&call).map(|call| call.task)
    }
}

impl Call {
    /// Whether its attempt waits for the answer.
    fn is_waiting(&self) -> bool {
        matches!(self.asked, Some((_, Some(_))))
    }

    /// What it can cost.
    fn worst(&self) -> Option<Usage> {
        let (demand, _) = self.asked.as_ref()?;
        Some(Usage {
            calls: 1,
            input_tokens: demand.most_input_tokens,
            output_tokens: demand.output_tokens,
            cost_micros: demand.cost_micros.unwrap_or(0),
            unpriced_calls: u64::from(demand.cost_micros.is_none()),
            estimated: true,
            ..Usage::default()
        })
    }
}
