//! One file per model service, and a scripted one.
//!
//! A provider turns a `Request` into one exchange and its outcome into a `Reply`, a refused parameter or a typed `Failure`. It
//! sends one request for each call, and repeats none that a service may have got. Only before that it may wait for this
//! machine: where no descriptor is left for a connection, `wire` (`in_room`) connects again until one is free, none came back
//! for long, or the time of the request is over. `convoke_process` waits in the same way to start a coding agent. A provider
//! keeps no money and reads no environment: credentials are references that a function given by the caller resolves,
//! proxies and certificates are explicit [`Options`].
//!
//! [`Registry`] finds providers by their settings, and [`preset`] says what a name stands for. `wire` is one exchange,
//! whatever the protocol; a file per protocol says what goes out and puts together what comes back. `program` starts coding
//! agents: [`Acp`] speaks their protocol with them, and [`Headless`] reads what they print. [`Recording`] writes
//! down what providers are asked and say, and [`Replay`] answers from what was written; [`RecordingTools`] and
//! [`ReplayTools`] do the same for tools.

mod acp;
mod anthropic;
mod cassette;
mod credentials;
mod fault;
mod gemini;
mod headless;
mod http;
mod openai;
mod parts;
pub mod preset;
mod program;
mod reference;
mod refusal;
mod registry;
mod responses;
mod scripted;
mod trouble;

use http::{connection, dates, limits, phases, wire};

pub use acp::Acp;
pub use anthropic::Anthropic;
pub use cassette::{CASSETTE_FILE, Recording, RecordingTools, Replay, ReplayTools, Tape};
pub use connection::{Clients, Options, causes as innermost};
pub use gemini::Gemini;
pub use headless::Headless;
pub use openai::OpenAi;
pub use program::Programs;
pub use reference::{Lookup, names};
pub use registry::Registry;
pub use responses::Responses;
pub use scripted::Scripted;
