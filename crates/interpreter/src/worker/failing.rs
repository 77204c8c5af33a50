//! What kind of failure an exception is.

use crate::outcome::Kind;
use convoke_model::excerpt::clipped_bytes;
use monty_types::{ExcType, MontyException, ResourceTracker};

/// The longest message and traceback that are told. The end of a traceback says more than its beginning.
const MESSAGE: usize = 2_000;
const TRACEBACK: usize = 8_000;

/// The kind of a failure. `stopped` is why we ended the program ourselves, if we did.
pub fn kind(error: &MontyException, stopped: Option<Kind>, tracker: &ResourceTracker) -> Kind {
    if let Some(kind) = stopped {
        return kind;
    }
    // A program may raise this one itself; only the clock tells.
    let is_late = tracker.max_duration().is_some_and(|most| tracker.elapsed() > most);
    match error.exc_type() {
        ExcType::TimeoutError if is_late => Kind::Time,
        ExcType::MemoryError => Kind::Memory,
        ExcType::RecursionError => Kind::Recursion,
        ExcType::SyntaxError => Kind::Syntax,
        ExcType::NotImplementedError | ExcType::ModuleNotFoundError | ExcType::ImportError => {
            Kind::Unsupported
        }
        _ => Kind::Exception,
    }
}

/// The line of the program where it happened: the innermost place in the program's own text, which the first frame is
/// in. Functions of earlier programs are in others.
pub fn line(error: &MontyException) -> Option<u32> {
    let file = &error.traceback().first()?.filename;
    error.traceback().iter().rfind(|frame| frame.filename == *file).map(|frame| frame.start.line)
}

/// The exception in one line.
pub fn message(error: &MontyException) -> String {
    clipped_bytes(&error.summary(), MESSAGE)
}

/// Python's traceback, or its end.
pub fn traceback(error: &MontyException) -> String {
    let whole = error.to_string();
    if whole.len() <= TRACEBACK {
        return whole;
    }
    // What is too long is the message, or the way to it.
    let frames = whole.len() - error.summary().len();
    if frames > TRACEBACK / 2 {
        let from = whole.ceil_char_boundary(whole.len() - TRACEBACK.min(whole.len()));
        return format!("…{}", &whole[from..]);
    }
    clipped_bytes(&whole, TRACEBACK)
}
