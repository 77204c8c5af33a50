//! What can be wrong with a file that describes an organisation, in words. Each code has a page in `docs/errors`.

use super::read::LARGEST;
use convoke_plan::Diagnostic;
use convoke_plan::diagnostic::{SourceFile, Span};
use std::ops::Range;
use std::sync::Arc;

fn at(file: &Arc<SourceFile>, range: Range<usize>) -> Span {
    Span { file: file.clone(), range }
}

/// The file cannot be read.
pub(super) fn syntax(file: &Arc<SourceFile>, range: Range<usize>, why: &str) -> Diagnostic {
    let message = format!("`{}` cannot be read: {why}", file.path);
    Diagnostic::error("org::syntax", message, at(file, range), "here")
}

/// The ending of the name says no format.
pub(super) fn unknown_format(file: &Arc<SourceFile>) -> Diagnostic {
    let message = format!("`{}` is in no format that organisations are read from", file.path);
    Diagnostic::error("org::syntax", message, at(file, 0..0), "unknown format")
        .help("Turtle (.ttl), JSON-LD (.jsonld, .json) and RDF/XML (.rdf, .xml) are read")
}

/// Nobody describes a company in so many bytes.
pub(super) fn too_large(file: &Arc<SourceFile>) -> Diagnostic {
    let message = format!("`{}` has {} bytes, more than {LARGEST}", file.path, file.text.len());
    Diagnostic::error("org::syntax", message, at(file, 0..0), "too large")
}

/// Entities are how a small file becomes a large one, or reads another.
pub(super) fn entity(file: &Arc<SourceFile>, range: Range<usize>) -> Diagnostic {
    let message = format!("`{}` declares an entity: entities are not read", file.path);
    Diagnostic::error("org::syntax", message, at(file, range), "declared here")
        .help("write the text itself; what a file names elsewhere is never fetched")
}
