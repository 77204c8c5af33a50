//! `secrets`: where the values of named secrets come from.

use super::super::read::{self, Fields};
use super::super::section::section;
use super::super::shape::TEXTS;
use super::super::text::Spanned;
use super::Names;
use crate::diagnostic::Span;

section! {
    /// One entry of `secrets`. Its value is found when a run starts; nothing here is followed before.
    #[derive(Debug, Clone)]
    pub struct SecretEntry = "secret", "a secret" {
        /// environment variable that holds it
        #[by(read::fixed::fixed)]
        pub env: Option<Spanned<String>>,
        /// file that holds it, which others cannot read (mode 0600), relative to this file
        #[by(read::fixed::fixed)]
        pub file: Option<Spanned<String>>,
        /// program and arguments that print it; no shell reads them
        pub command: Option<Names> => TEXTS,
        /// with `command`: variables that it is given although they are named like a credential
        pub inherit: Names = Names::new() => TEXTS,
        /// its name in the vault of `convoke secrets`
        #[by(read::fixed::fixed)]
        pub vault: Option<Spanned<String>>,
    } with {
        /// Place of the entry.
        pub span: Span = Fields::place,
    } judge read::secret::judge_secret
}
