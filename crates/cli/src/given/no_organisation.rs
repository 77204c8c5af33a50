//! What a build without the feature `knowledge` says of organisations.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::Diagnostic;
use convoke_plan::compile::GivenInput;
use convoke_plan::diagnostic::SourceFile;
use convoke_plan::source::{Organisation, OrganisationError};

/// How an organisation is named on the command line.
pub const PREFIX: &str = "org:";

/// Reads none.
pub fn roles(_: &SourceFile) -> Result<Organisation, OrganisationError> {
    Err(OrganisationError::Unknown)
}

/// Refuses it.
pub fn manifest(
    _: &str,
    _: &[(String, GivenInput)],
    _: bool,
) -> Result<(String, Vec<Diagnostic>), CommandFailure> {
    Err(CommandFailure::new(Exit::Refused, "this build knows no organisations")
        .hint("build it with the feature `knowledge`, which is on unless told otherwise"))
}
