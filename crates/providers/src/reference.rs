//! Credentials are written as references and become values only here, at launch. They leave this module only as secrets.

pub use convoke_model::reference::names;

use convoke_model::reference;
use secrecy::SecretString;
use std::sync::Arc;

/// Gives the value of a variable, if it is set.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Replaces the references in a text; the error is the name of the first variable that is not set.
pub fn resolve(text: &str, lookup: &Lookup) -> Result<SecretString, String> {
    reference::resolve(text, &**lookup).map(SecretString::from)
}
