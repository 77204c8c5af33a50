//! Whether a workflow that no person named may run.
//!
//! A person who names a local file consents to it. Every other workflow is data: one from a URL, one that a caller of the API names
//! outside of the folders that the server was given, one in a folder that was only opened. It is read, checked and shown, and nothing of
//! it runs until a person says `convoke trust`. Trust is kept by place and content: a file that has changed, or lies elsewhere, is
//! another file.

mod content;
mod place;
mod store;
mod url;

pub use content::{Content, of_file, of_plan};
pub use place::Place;
pub use store::{Entry, Standing, Store};
pub use url::{Lone, fetch, is_url};

use crate::config::Config;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::Plan;

/// How a workflow came to this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A person named it, or it is the program's own.
    #[default]
    Named,
    /// It lay in a folder that was opened, or a caller of the API named it.
    Found,
    /// It came over the network.
    Fetched,
}

/// Refuses a workflow that no person named and that is not trusted. Nothing of it has run before.
pub fn require(config: &Config, origin: Origin, place: &Place, plan: &Plan) -> Result<(), CommandFailure> {
    if origin == Origin::Named || place.is_below(&config.trusted_folders) {
        return Ok(());
    }
    let content = content::of_plan(place, plan);
    let store = Store::at(&config.own_state);
    match store.standing(place, &content)? {
        Standing::Trusted => Ok(()),
        Standing::Unknown => Err(untrusted(origin, place, "it is not trusted")),
        Standing::Changed => Err(untrusted(origin, place, "it has changed since it was trusted")),
    }
}

fn untrusted(origin: Origin, place: &Place, why: &str) -> CommandFailure {
    let how = match origin {
        Origin::Fetched => "comes over the network",
        Origin::Found | Origin::Named => "was found, not named by a person",
    };
    CommandFailure::new(Exit::Refused, format!("`{place}` {how}, and {why}: nothing of it was run"))
        .hint(format!("read it, then say: convoke trust {place}"))
}
