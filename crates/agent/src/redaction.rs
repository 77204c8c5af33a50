//! Secrets are taken out of everything that an attempt sends to models, and of everything that it says.
//!
//! Two boundaries, one [`Scrubber`] at each. [`RedactedProviders`] stands around every provider: a request reaches a model without
//! the secrets that its agent's contract does not list. [`RedactedLink`] stands around the link on which an attempt speaks:
//! reports, turn records and the end of the attempt reach the journal and the screen without known credentials.
//! [`RedactedExecutor`] gives each attempt such a link.
//!
//! Which values are secret, the caller says: this module reads no environment. Kept true: a text without secrets passes as it
//! is, byte for byte; a redacted value is well-formed JSON with the same shape.

mod encodings;
mod executor;
mod key_patterns;
mod link;
mod providers;
mod scrubber;

pub use encodings::encodings_of;
pub use executor::RedactedExecutor;
pub use link::RedactedLink;
pub use providers::{RedactedProviders, Secret};
pub use scrubber::Scrubber;
