//! How an answer was judged, which no event says in one piece: after the call of the model that judges comes what follows from it.

use convoke_model::{Event, ModelCall, reason};

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judge {
    /// A validator, whose word is advice.
    Validator,
    /// The success criteria, which are a condition.
    Criteria,
}

impl Judge {
    /// The one that a call asked, and that has answered.
    pub fn of(call: &ModelCall) -> Option<Judge> {
        match (call.purpose.as_str(), call.failure) {
            ("grade", None) => Some(Judge::Validator),
            ("verify", None) => Some(Judge::Criteria),
            _ => None,
        }
    }

    /// The word for its judgements.
    pub const fn word(self) -> &'static str {
        match self {
            Judge::Validator => "validator",
            Judge::Criteria => "success_criteria",
        }
    }

    /// What it said, by the event of the task that follows: passed or not, and why not. `None` where it said nothing clear.
    pub fn said(self, next: &Event) -> Option<(bool, &str)> {
        let (word, why) = match next {
            Event::Noted { code, message, .. } => (code.as_str(), message.as_str()),
            Event::AttemptFailed { failure, .. } => {
                (failure.reason.as_deref().unwrap_or_default(), failure.message.as_str())
            }
            _ => return Some((true, "")),
        };
        match (self, word) {
            (Judge::Validator, "validation_failed") | (Judge::Criteria, reason::CRITERIA_UNMET) => {
                Some((false, why))
            }
            (Judge::Validator, "validator_failed") | (Judge::Criteria, reason::NO_VERDICT) => None,
            _ => Some((true, "")),
        }
    }
}
