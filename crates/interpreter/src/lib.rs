//! Programs that models write: run in a worker process that can do nothing but compute and ask.
//!
//! A program is Python, as far as monty understands it ([`GUIDE`]). It runs in a process of its own, never in the
//! host's: [`worker::serve`] confines the process (seccomp, Landlock, resource limits, no privileges, no descriptors but
//! three) before it reads the first program, and runs nothing where that cannot be done. Whatever a program does, at
//! worst its worker dies, and [`Interpreter`] says so as a [`Failed`] program.
//!
//! A program's only way out are calls of host functions. At each it waits ([`Next::Call`]); the host answers
//! ([`Interpreter::answer`]). Data stay with the host. The waiting program can be saved ([`Paused`]) and gone on with in
//! another worker of the same build ([`Interpreter::resume`]); recorded answers bring any build there
//! ([`Interpreter::replay`]). Variables live on from program to program ([`Origin`]).
//!
//! Which functions there are is the caller's business. What they do, how calls are paid for and journalled, and what a
//! program is for is known elsewhere. Recursive synthesis has these, by which a program works on outputs that it never
//! holds:
//!
//! | function | gives |
//! |---|---|
//! | `outputs()` | a list of what there is: ids, types, sizes |
//! | `get(id)` | one output |
//! | `slice(id, start, end)` | a part of one |
//! | `search(pattern, ids=None, limit=…)` | where a pattern occurs |
//! | `llm(prompt)` | a model's answer |
//! | `llm_map(prompts)` | the answers to all of them, asked at the same time |
//! | `rlm(query, ids)` | the answer of a program for some of the outputs, one level deeper |
//! | `final(value)` | nothing: the host takes the value and does not go on with the program |

mod answer;
mod cause;
mod error;
mod frame;
mod guide;
mod host;
mod limits;
mod outcome;
mod protocol;
mod sandbox;
mod value;
pub mod worker;

pub use answer::{Answer, Exception};
pub use cause::Cause;
pub use error::Error;
pub use guide::{GUIDE, MODULES};
pub use host::{Interpreter, Origin, Program, Recorded, Turn, WorkerCommand, Workers};
pub use limits::Limits;
pub use outcome::{Call, Death, Ended, Failed, Kind, Next, Paused, Printed, Session};
pub use sandbox::Sandbox;
pub use value::readable;
