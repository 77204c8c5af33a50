//! Files that describe organisations: read with places, checked, and made into the manifest of a department or of all.
//!
//! Nothing outside the files is read: no `owl:imports`, no remote context, no entity. Invariant: every finding names what somebody wrote,
//! at its place.

mod chart;
mod check;
mod findings;
mod import;
mod manifest;
mod read;
mod roles;

pub use chart::{Chart, Department, Role, Server};
pub use check::check;
pub use manifest::{Flow, Made, Scope, manifest};
pub use read::{Format, Stated, Text, read};
pub use roles::roles;

use crate::rules::Reasoner;
use crate::vocab;
use convoke_plan::{Diagnostic, Severity};
use oxrdf::Triple;
use oxttl::TurtleParser;

/// What files say together, and what follows from it.
pub struct Organisation {
    /// What was written, with places.
    pub stated: Stated,
    /// What follows.
    pub reasoner: Reasoner,
    /// Who there is, and how they stand to each other.
    pub chart: Chart,
}

/// Reads files that describe one organisation; the findings say everything that is wrong, and there is none without errors.
pub fn load(texts: &[Text]) -> (Option<Organisation>, Vec<Diagnostic>) {
    let mut stated = match read(texts) {
        Ok(stated) => stated,
        Err(found) => return (None, found),
    };
    import::translate(&mut stated);
    let words = ontology();
    let reasoner = Reasoner::new(words.iter().chain(stated.triples()));
    let chart = Chart::of(&reasoner);
    let organisation = Organisation { stated, reasoner, chart };
    let found = check(&organisation);
    let is_sound = found.iter().all(|one| one.severity != Severity::Error);
    (is_sound.then_some(organisation), found)
}

/// Our words, and those of others that they are aligned with.
pub fn ontology() -> Vec<Triple> {
    let parsed = TurtleParser::new()
        .for_slice(vocab::ONTOLOGY)
        .chain(TurtleParser::new().for_slice(import::ALIGNMENTS));
    parsed.collect::<Result<_, _>>().expect("the words are part of the program, and a test reads them")
}

#[cfg(test)]
mod tests;
