//! The places of the time slider: the run as it was after some of its events, each as what is different from its last moment.
//!
//! A row changes a few times in a run, so the places together are little more than the rows; only as many places are made as there is
//! room for, and the page says at which of all events they stand.

use super::record::Room;
use crate::api::{RunAt, SentenceBody};
use crate::error::ApiError;
use crate::following::Follower;
use crate::shapes::{RunHead, TaskRowBody, TimelineBody};
use convoke_model::Timestamp;
use convoke_view::{Picture, Story};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};

/// Places that a slider has.
const MOST_PLACES: u64 = 200;

/// Places that it has however many rows there are.
const FEWEST_PLACES: u64 = 20;

/// Rows that are looked at for all places together.
const MOST_LOOKS: u64 = 4_000_000;

/// Rows whose waiting is told at one place.
const MOST_QUEUED: usize = 500;

/// The run after one of its events.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    position: u64,
    at: Timestamp,
    /// What of the head is different from the last moment.
    head: Value,
    /// Rows that were changed since the place before, by their `order`: what of each is different from its last moment. Null: the row
    /// was not there.
    rows: Vec<(usize, Value)>,
    /// How many rows there were.
    count: usize,
    /// What the story says at its end.
    so_far: Vec<SentenceBody>,
    idle: Vec<[Timestamp; 2]>,
    /// Rows by their `order`.
    critical: Vec<usize>,
    /// Rows that waited at that moment, by their `order`, with milliseconds.
    queued: Vec<(usize, u64)>,
}

/// At which events the slider stands: where something happened that a person looks for, and evenly between.
pub(super) fn chosen(markers: impl Iterator<Item = u64>, last: u64, rows: usize) -> Vec<u64> {
    let most = (MOST_LOOKS / (rows as u64).max(1)).clamp(FEWEST_PLACES, MOST_PLACES);
    let markers: Vec<u64> = markers.filter(|seq| *seq < last).collect();
    let every = (markers.len() as u64).div_ceil(most / 2).max(1);
    let mut places: BTreeSet<u64> = markers.into_iter().step_by(every as usize).collect();
    let left = most.saturating_sub(places.len() as u64).max(1);
    let step = last.div_ceil(left).max(1);
    places.extend((1..last).step_by(step as usize));
    places.into_iter().collect()
}

/// The rows of the last moment.
pub(super) struct Finals {
    /// By their `order`.
    pub rows: HashMap<usize, Value>,
    /// Rows from this place on are not in the file.
    pub end: usize,
}

/// Makes them, one after the other, until there is no more room.
pub(super) fn places(
    follower: &Follower,
    head: &RunHead,
    finals: &Finals,
    at: &[u64],
    room: &mut Room<'_>,
) -> Result<Vec<String>, ApiError> {
    let last = json!(head);
    let mut before = None;
    let mut made = Vec::new();
    for position in at {
        let place = follower.at(*position, |picture| {
            let then = json!(head.clone().back_at(picture, *position));
            let place = place(picture, *position, before, finals);
            Place { head: differing(&last, &then), ..place }
        })?;
        before = Some(*position);
        match room.take(&place) {
            Some(text) => made.push(text),
            None => break,
        }
    }
    Ok(made)
}

fn place(picture: &Picture, position: u64, before: Option<u64>, finals: &Finals) -> Place {
    let rows = picture.table.rows();
    let changed: Vec<usize> = match before {
        None => (0..rows.len()).collect(),
        Some(before) => picture.table.changed_since(before).collect(),
    };
    let changed = changed.into_iter().filter(|place| *place < finals.end);
    let body = |place: usize| {
        let row = &rows[place];
        let then =
            if row.gone { Value::Null } else { json!(TaskRowBody::of(picture, place, row, true, None)) };
        (place, finals.rows.get(&place).map_or_else(|| then.clone(), |last| differing(last, &then)))
    };
    let said = HashMap::new();
    let timeline = TimelineBody::of(&RunAt { picture, position, live: true, problem: None, said: &said });
    // Rows of a timeline are those that are not gone, in the same order.
    let shown: Vec<usize> = (0..rows.len()).filter(|place| !rows[*place].gone).collect();
    let waiting = shown
        .iter()
        .zip(&timeline.rows.queued)
        .filter(|(place, queued)| **queued > crate::shapes::millis(rows[**place].queued));
    Place {
        position,
        at: timeline.to,
        head: Value::Null,
        rows: changed.map(body).collect(),
        count: shown.len(),
        so_far: Story::so_far(&picture.state, &picture.gates, position)
            .into_iter()
            .map(SentenceBody::of)
            .collect(),
        idle: timeline.idle,
        critical: timeline.critical.iter().filter_map(|at| shown.get(*at).copied()).collect(),
        queued: waiting.take(MOST_QUEUED).map(|(place, queued)| (*place, *queued)).collect(),
    }
}

/// The fields of `then` that `last` has otherwise.
fn differing(last: &Value, then: &Value) -> Value {
    let (Value::Object(last), Value::Object(then)) = (last, then) else { return then.clone() };
    let differs = |(name, value): &(&String, &Value)| last.get(*name) != Some(value);
    let fields = then.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(fields.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slider_stands_at_marks_and_evenly_between_and_never_at_more_than_it_may() {
        assert_eq!(chosen([].into_iter(), 1, 9), Vec::<u64>::new());
        assert_eq!(chosen([3].into_iter(), 5, 9), [1, 2, 3, 4]);
        for (rows, most) in [(10, 200), (40_000, 100), (1_000_000, 20)] {
            let many = chosen((1..100_000).step_by(7), 100_000, rows);
            assert!(many.len() > most * 3 / 4 && many.len() <= most, "{}", many.len());
            assert!(many.windows(2).all(|two| two[0] < two[1]) && many.last() < Some(&100_000));
        }
        let few = chosen([50_001].into_iter(), 100_000, 10);
        assert!(few.contains(&50_001) && few.len() > 150 && *few.last().unwrap() > 99_000, "{few:?}");
    }

    #[test]
    fn only_what_is_different_is_kept() {
        let (last, then) = (json!({"a": 1, "b": null, "c": 2}), json!({"a": 1, "b": 3, "d": 4}));
        assert_eq!(differing(&last, &then), json!({"b": 3, "d": 4}));
        assert_eq!(differing(&last, &Value::Null), Value::Null);
    }
}
