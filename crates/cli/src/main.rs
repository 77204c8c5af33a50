//! The `convoke` command.
fn main() {}
