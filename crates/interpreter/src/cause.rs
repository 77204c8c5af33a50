//! Which of several troubles decides what is done.
//!
//! Only those that can happen here: there is one kind of sandbox, so nothing is ever handed on to a stronger one.

use crate::outcome::{Failed, Kind};
use convoke_model::Class;

/// Why a run of programs did not work out, from the gravest: the first of several decides what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// There is no safe place to run programs in. Nothing is tried again.
    SandboxFatal,
    /// A program took too long.
    ProgramTimeout,
    /// A host function took too long.
    HostTimeout,
    /// A program was wrong.
    BadProgram,
    /// What the program gave was not accepted.
    Rejected,
    /// Something else.
    Unknown,
}

impl Cause {
    /// The gravest of these.
    pub fn gravest(causes: impl IntoIterator<Item = Cause>) -> Cause {
        causes.into_iter().min().unwrap_or(Cause::Unknown)
    }

    /// The word used in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            Cause::SandboxFatal => "sandbox_fatal",
            Cause::ProgramTimeout => "sandbox_exec_timeout",
            Cause::HostTimeout => "host_tool_timeout",
            Cause::BadProgram => "model_generated_bad_code",
            Cause::Rejected => "evaluator_reject",
            Cause::Unknown => "unknown",
        }
    }
}

impl From<&Failed> for Cause {
    fn from(failed: &Failed) -> Cause {
        match failed.kind {
            Kind::Time => Cause::ProgramTimeout,
            Kind::Died if failed.failure().class == Class::Transient => Cause::Unknown,
            _ => Cause::BadProgram,
        }
    }
}
