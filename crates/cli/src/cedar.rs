//! Whether this program can ask Cedar rules (cargo feature `cedar`). Without it, a policy that names some is refused.

use convoke_tools::ReadCedar;

/// Reads Cedar rules.
#[cfg(feature = "cedar")]
pub const READ: Option<ReadCedar> = Some(convoke_cedar::read);
/// Reads Cedar rules.
#[cfg(not(feature = "cedar"))]
pub const READ: Option<ReadCedar> = None;
