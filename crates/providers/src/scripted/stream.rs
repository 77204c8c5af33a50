//! An answer that takes its time, in pieces: what is watched while it grows can be tried without a model.
//!
//! The pieces are words, spread evenly over the time. Invariant: together they are the answer, and there are no more of them than
//! [`MOST`], whatever its length.

use convoke_agent::{Report, Sink};
use std::time::Duration;

/// Between two pieces, at least: a screen is not drawn more often.
const STEP: Duration = Duration::from_millis(50);

/// Pieces of one answer.
const MOST: u32 = 64;

/// Waits for so long, and says the text meanwhile. An answer that is there at once is not said in pieces.
pub async fn say(text: &str, time: Duration, sink: &dyn Sink) {
    let pieces = pieces(text, (time.as_millis() / STEP.as_millis()).min(MOST.into()) as usize);
    if pieces.len() < 2 {
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
        return;
    }
    let step = time / pieces.len() as u32;
    // Counted from the beginning, so that what each sleep takes too long does not add up.
    let begun = tokio::time::Instant::now();
    for (piece, count) in pieces.iter().zip(1..) {
        tokio::time::sleep_until(begun + step * count).await;
        sink.report(Report::Progress { text: (*piece).to_owned() });
    }
    tokio::time::sleep_until(begun + time).await;
}

/// The text in at most so many pieces of about the same length, each ending behind a blank or with the text.
fn pieces(text: &str, most: usize) -> Vec<&str> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let each = words.len().div_ceil(most.max(1)).max(1);
    let mut rest = text;
    words
        .chunks(each)
        .map(|words| {
            let (piece, behind) = rest.split_at(words.iter().map(|word| word.len()).sum());
            rest = behind;
            piece
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Said(Mutex<Vec<String>>);

    impl Sink for Said {
        fn report(&self, report: Report) {
            if let Report::Progress { text } = report {
                self.0.lock().unwrap().push(text);
            }
        }
    }

    async fn said(text: &str, millis: u64) -> (Vec<String>, Duration) {
        let (said, begun) = (Said::default(), tokio::time::Instant::now());
        say(text, Duration::from_millis(millis), &said).await;
        (said.0.into_inner().unwrap(), begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn the_pieces_are_the_answer_and_take_its_time() {
        let (said, took) = said("one two  three\nfour é", 1_000).await;
        assert_eq!(said, ["one ", "two ", " ", "three\n", "four ", "é"]);
        assert_eq!(took, Duration::from_millis(1_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_answer_has_no_more_pieces_than_a_screen_shows() {
        let text = "word ".repeat(10_000);
        let (said, took) = said(&text, 60_000).await;
        assert!(said.len() <= MOST as usize && said.len() > 40, "{}", said.len());
        assert_eq!((said.concat(), took), (text, Duration::from_millis(60_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_at_once_is_not_said_in_pieces() {
        for (text, millis) in [("one two", 0), ("one two", 60), ("", 1_000), ("one", 1_000)] {
            let (said, took) = said(text, millis).await;
            assert!(said.is_empty() && took == Duration::from_millis(millis), "{text} {said:?}");
        }
    }
}
