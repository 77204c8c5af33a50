//! One file per model service, and a scripted one.
//!
//! A provider turns a `Request` into one exchange and its outcome into a `Reply` or a typed `Failure`. It retries
//! nothing, keeps no money and reads no environment: credentials are references that a function given by the caller
//! resolves, proxies and certificates are explicit [`Options`]. [`Registry`] finds providers by their settings.

mod connection;
mod openai;
mod reference;
mod registry;
mod scripted;

pub use connection::Options;
pub use openai::OpenAi;
pub use reference::{Lookup, names};
pub use registry::Registry;
pub use scripted::Scripted;
