//! How far a client has come, as a text that it keeps and gives back.
//!
//! `b=BOOT.LOOK;r:RUN=EVENT;e:RUN=EVENT`: the look at all runs, which only the server that looked knows; for each run the last event whose rows
//! the client has; for each run whose events it wants, the last of these.

use convoke_model::RunId;
use std::collections::BTreeMap;

/// How far a client has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The last look at all runs.
    pub board: Option<u64>,
    /// The same for questions, which are a topic of their own.
    pub inbox: Option<u64>,
    /// By run, the last event whose rows it has.
    pub rows: BTreeMap<RunId, u64>,
    /// By run, the last event that it has.
    pub events: BTreeMap<RunId, u64>,
}

impl Place {
    /// Reads a place; what is not understood is not there. Looks of another server are none of this one.
    pub fn read(text: &str, boot: u64) -> Place {
        let mut place = Place::default();
        for part in text.split(';') {
            let Some((key, value)) = part.rsplit_once('=') else { continue };
            let of_run = |prefix: &str| {
                let run = key.strip_prefix(prefix)?;
                Some((RunId(run.into()), value.parse::<u64>().ok()?))
            };
            let look = || {
                let (of, look) = value.split_once('.')?;
                (of.parse() == Ok(boot)).then(|| look.parse().ok()).flatten()
            };
            match key {
                "b" => place.board = look(),
                "i" => place.inbox = look(),
                _ => {
                    place.rows.extend(of_run("r:"));
                    place.events.extend(of_run("e:"));
                }
            }
        }
        place
    }

    /// The place as a client keeps it.
    pub fn text(&self, boot: u64) -> String {
        let looks = [("b", self.board), ("i", self.inbox)];
        let looks = looks.into_iter().filter_map(|(key, look)| Some(format!("{key}={boot}.{}", look?)));
        let rows = self.rows.iter().map(|(run, seq)| format!("r:{run}={seq}"));
        let events = self.events.iter().map(|(run, seq)| format!("e:{run}={seq}"));
        looks.chain(rows).chain(events).collect::<Vec<_>>().join(";")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_and_looks_of_another_server_are_forgotten() {
        let mut place = Place { board: Some(3), inbox: Some(4), ..Place::default() };
        place.rows.insert(RunId("r-1".into()), 7);
        place.events.insert(RunId("r-1".into()), 9);
        assert_eq!(Place::read(&place.text(11), 11), place);
        let other = Place::read(&place.text(11), 12);
        assert_eq!((other.board, other.inbox, other.rows), (None, None, place.rows));
        assert_eq!(Place::read("x;y=z;r:a=b", 1), Place::default());
    }
}
