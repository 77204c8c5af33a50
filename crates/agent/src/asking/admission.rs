//! Every call to a model goes through here: asked for before, settled after.
//!
//! The engine answers with what its governor says; an attempt holds the permit for as long as the call lasts, and a
//! permit that is dropped unsettled frees what it holds, so that cancellation cannot leak capacity.

use convoke_model::{Failure, TaskId, Usage};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;

/// Says when a call may be made.
pub trait Admission: Send + Sync {
    /// Waits until the call may be made, or says why it never may.
    fn admit(&self, call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>>;

    /// Takes the permit back and learns what the call used and how it fared.
    fn settle(&self, permit: CallPermit, usage: &Usage, failure: Option<&Failure>);
}

/// The answer to a call's demand.
#[derive(Debug)]
pub enum Admitted {
    /// It may be made.
    Go(CallPermit),
    /// It cannot be paid, but one to this cheaper model may be; it needs a demand of its own.
    Instead(String),
}

/// What a call will need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDemand {
    /// The task that asks.
    pub task: TaskId,
    /// Its attempt.
    pub attempt: u32,
    /// The provider's name.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Our estimate of the tokens to send: for rates.
    pub input_tokens: u64,
    /// The most tokens that the service can count of what is sent: for budgets.
    pub most_input_tokens: u64,
    /// The most tokens that may come back.
    pub output_tokens: u64,
    /// What it costs at worst, in millionths of a US dollar; `None` where no price is known.
    pub cost_micros: Option<u64>,
    /// Models that the same question was refused before, because a budget could not pay them: none is offered again.
    #[serde(default)]
    pub refused: Vec<String>,
}

impl CallDemand {
    /// The most tokens that the call can use.
    pub fn most_tokens(&self) -> u64 {
        self.most_input_tokens.saturating_add(self.output_tokens)
    }
}

/// The right to make one call.
pub struct CallPermit(Option<Box<dyn Any + Send>>);

impl CallPermit {
    /// A permit that holds nothing.
    pub fn free() -> CallPermit {
        CallPermit(None)
    }

    /// A permit that holds `guard`, whose drop frees what it stands for.
    pub fn holding(guard: impl Any + Send) -> CallPermit {
        CallPermit(Some(Box::new(guard)))
    }

    /// What the permit holds, for the `Admission` that gave it.
    pub fn into_guard<T: Any>(self) -> Option<Box<T>> {
        self.0?.downcast().ok()
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "CallPermit(holding)" } else { "CallPermit(free)" })
    }
}

/// Admits everything at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

impl Admission for Unlimited {
    fn admit(&self, _call: CallDemand) -> BoxFuture<'_, Result<Admitted, Failure>> {
        Box::pin(std::future::ready(Ok(Admitted::Go(CallPermit::free()))))
    }

    fn settle(&self, _permit: CallPermit, _usage: &Usage, _failure: Option<&Failure>) {}
}
