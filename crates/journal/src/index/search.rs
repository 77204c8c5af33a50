//! Which runs a list shows.

use super::{Index, RunRow};
use crate::Error;
use convoke_model::{RunStatus, Timestamp};
use rusqlite::types::Value;

/// What is asked of a list. Every part narrows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Runs that stand so; any if there is none.
    pub status: Vec<RunStatus>,
    /// Runs of workflows whose name holds this.
    pub workflow: Option<String>,
    /// Runs that were started in this folder.
    pub folder: Option<String>,
    /// Runs that were started at this moment or later.
    pub since: Option<Timestamp>,
    /// Runs in whose name, workflow, file, folder, metadata or inputs each of these words stands, in small or capital letters.
    pub words: Vec<String>,
    /// So many of the newest.
    pub limit: Option<usize>,
}

impl Index {
    /// All runs, newest first, in line with the folders and with the owners that are alive.
    pub fn list(&mut self) -> Result<Vec<RunRow>, Error> {
        self.find(&Search::default())
    }

    /// The runs that are asked for, newest first.
    pub fn find(&mut self, search: &Search) -> Result<Vec<RunRow>, Error> {
        self.bring_into_line()?;
        let (sql, given) = search.sql();
        self.healing(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(&given))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                // A line that cannot be read is as good as absent; the next list that its run changes in makes it anew.
                found.extend(serde_json::from_slice::<RunRow>(row.get_ref(0)?.as_bytes()?));
            }
            Ok(found)
        })
    }
}

impl Search {
    /// The question, and what stands for its marks.
    fn sql(&self) -> (String, Vec<Value>) {
        let (mut wanted, mut given) = (Vec::new(), Vec::new());
        if !self.status.is_empty() {
            let words: Vec<_> = self.status.iter().map(|status| format!("'{}'", status.word())).collect();
            wanted.push(format!("status IN ({})", words.join(", ")));
        }
        if let Some(name) = &self.workflow {
            wanted.push("instr(workflow, ?) > 0".to_owned());
            given.push(Value::from(name.clone()));
        }
        if let Some(folder) = &self.folder {
            wanted.push("folder = ?".to_owned());
            given.push(Value::from(folder.clone()));
        }
        if let Some(since) = self.since {
            wanted.push("started >= ?".to_owned());
            given.push(Value::from(since.0 as i64));
        }
        for word in &self.words {
            wanted.push("instr(words, ?) > 0".to_owned());
            given.push(Value::from(word.to_lowercase()));
        }
        let wanted =
            if wanted.is_empty() { String::new() } else { format!("WHERE {}", wanted.join(" AND ")) };
        let limit = self.limit.map_or(String::new(), |limit| format!("LIMIT {limit}"));
        (format!("SELECT row FROM runs {wanted} ORDER BY started DESC, id DESC {limit}"), given)
    }
}
