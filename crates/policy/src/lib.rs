//! May this command run, this path be touched, this tool be called?
//!
//! Pure: a command text goes in, a verdict with its reasons comes out, and the plan of what would be executed. Nothing here reads a
//! disk, an environment or a clock; what is asked about files goes through [`World`].
//!
//! ```text
//! text ─► reading ─► Script ─► judging ─► CommandPlan + Verdict + reasons
//!          three readers        profiles, paths, hosts, rules of the Policy
//! ```
//!
//! # What it keeps true
//!
//! - **The plan is what runs.** It holds argument vectors, never text for a shell. What the shell would compute when it runs
//!   (variables, substitutions, globs that may begin a word, subshells) is *complex* and never allowed without a person.
//! - **What is not known is not allowed.** An option without a line in its program's profile, a program without a profile, a text that
//!   two readers read differently, a cap that is exceeded: each is a reason, never a guess.
//! - **Deny wins.** A denied program stays denied behind wrappers, paths and quotes; where it could be hidden, the text is denied.
//! - **Protected and secret names hold everywhere,** in any case, at any depth, also while the file is missing, and no rule of a policy
//!   takes them away.
//!
//! The policy is the convenience; the sandbox in which plans run is the boundary. What the crate leaves to others: executing plans,
//! resolving paths again when they are opened, asking people.

mod authority;
mod explain;
mod file;
mod judging;
mod plan;
mod policy;
mod profile;
mod protected;
mod reading;
mod verdict;
mod world;

pub use authority::{
    Action, Actor, Answer, Authorities, Authority, Named, NoAuthorities, Opinion, Question, Resource,
};
pub use file::{Finding, PRESETS, preset_text, schema};
pub use judging::{Host, parse_host};
pub use plan::{CommandPlan, PlannedCommand, PlannedPipeline, PlannedRedirect, PlannedWord, quote};
pub use policy::{Binaries, Environment, Limits, PathPattern, Paths, Policy, Tools};
pub use protected::{protected, secret};
pub use reading::script::Join;
pub use reading::word::Pattern;
pub use verdict::{Judgement, OnViolation, Reason, Rule, Verdict};
pub use world::{Access, Kind, Lexical, Place, Resolution, World};
