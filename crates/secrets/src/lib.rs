//! Secrets at rest: a vault in the [age] format, and files that their owner alone can read.
//!
//! [`Vault`] is one file that holds values by name, opened with a [`Key`]; [`private`] reads files that nobody else may read; [`value`] says
//! which bytes can be a secret at all. When a secret is fetched, and for whom, is decided by the caller.
//!
//! Kept true: a value leaves this crate as a [`SecretString`](secrecy::SecretString), no error holds one, and what is written lies under a name
//! only once it is complete.
//!
//! [age]: https://age-encryption.org/v1

mod contents;
mod description;
pub mod private;
pub mod value;
mod vault;
mod writing;

pub use contents::Listed;
pub use description::{Description, KeyKind};
pub use vault::{Key, Vault, VaultError, new_identity};
pub use writing::write_private;
