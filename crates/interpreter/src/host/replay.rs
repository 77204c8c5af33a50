//! Runs programs again with the answers that they were given before.
//!
//! A saved state is bound to the build that saved it; recorded answers are not. What the programs ask is compared with
//! what they asked, so that an answer never reaches another question.

use super::interpreter::{Interpreter, Origin, Program};
use crate::answer::Answer;
use crate::error::Error;
use crate::outcome::{Call, Next};
use serde::{Deserialize, Serialize};

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The function.
    pub function: String,
    /// [`Call::digest`].
    pub digest: String,
    /// The answer.
    pub answer: Answer,
}

impl Recorded {
    /// The call and its answer.
    pub fn new(call: &Call, answer: Answer) -> Recorded {
        Recorded { function: call.function.clone(), digest: call.digest(), answer }
    }
}

/// A program with the answers that it was given.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The program. Whose variables it finds is not looked at: those of the turn before.
    pub program: Program,
    /// The answers, in order.
    pub answers: Vec<Recorded>,
}

impl Interpreter {
    /// Brings the worker to where these programs stood: the last one is over, or waits for an answer that is not
    /// recorded. A turn that still waits when another follows was given up, and is given up again. Leave out turns
    /// whose worker died: they left no variables.
    pub async fn replay(&mut self, turns: &[Turn]) -> Result<Option<Next>, Error> {
        let saves = self.saves;
        let stood = self.replay_all(turns).await;
        self.saves = saves;
        stood
    }

    async fn replay_all(&mut self, turns: &[Turn]) -> Result<Option<Next>, Error> {
        let mut last = None;
        for (index, turn) in turns.iter().enumerate() {
            let origin = if index == 0 { Origin::Fresh } else { Origin::Kept };
            let is_last = index + 1 == turns.len();
            last = Some(self.again(index + 1, turn, origin, is_last).await?);
        }
        Ok(last)
    }

    async fn again(
        &mut self,
        number: usize,
        turn: &Turn,
        origin: Origin,
        is_last: bool,
    ) -> Result<Next, Error> {
        let program = Program { origin, ..turn.program.clone() };
        // Only the place where the replay stops is worth saving.
        self.saves = is_last && turn.answers.is_empty();
        let mut next = self.run(program).await?;
        for (index, recorded) in turn.answers.iter().enumerate() {
            let call = same(number, index as u64 + 1, recorded, next)?;
            self.saves = is_last && index + 1 == turn.answers.len();
            next = self.answer(call, recorded.answer.clone()).await?;
        }
        Ok(next)
    }
}

/// The number of the call, if it is the recorded one.
fn same(turn: usize, call: u64, recorded: &Recorded, next: Next) -> Result<u64, Error> {
    let found = match next {
        Next::Call(it) if it.digest() == recorded.digest => return Ok(it.number),
        Next::Call(it) if it.function == recorded.function => format!("`{}` of something else", it.function),
        Next::Call(it) => format!("`{}`", it.function),
        Next::Ended(_) => "the end of the program".into(),
        Next::Failed(failed) => format!("a failure ({})", failed.message),
    };
    Err(Error::Diverged { turn, call, expected: format!("`{}`", recorded.function), found })
}
