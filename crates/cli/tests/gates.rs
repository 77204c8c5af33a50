//! Gates as people and programs outside see them: ids and hashes, answers that come late, twice or to another question, answers of
//! several processes at once, kills between inbox and journal, and steps that would answer for people.

mod inside;
mod kills;
mod many;
mod refusals;
