//! What the policy promises.
//!
//! One program for all files: each program more is linked, and compiles what they share, once more.

mod arbitrary;
mod corpus;
mod files;
mod oracle;
mod speed;
mod table;
