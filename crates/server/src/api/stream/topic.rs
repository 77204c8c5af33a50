//! What a stream can be about.

use crate::error::ApiError;
use convoke_model::{RunId, TaskId};

/// Something that a client wants to be told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// The list of runs.
    Runs,
    /// The questions of all runs.
    Inbox,
    /// What processes share.
    Capacity,
    /// The head and the rows of a run.
    Run(RunId),
    /// The events of a run, every one.
    Events(RunId),
    /// What a task says while it says it.
    Task(RunId, TaskId),
}

/// Topics of one stream.
const MOST: usize = 64;

impl Topic {
    /// Reads `KIND`, `KIND:RUN` or `KIND:RUN:TASK`.
    pub fn parse(text: &str) -> Result<Topic, ApiError> {
        let mut parts = text.splitn(3, ':');
        let (kind, run, task) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let run = run.filter(|run| !run.is_empty()).map(|run| RunId(run.into()));
        match (kind, run, task) {
            ("runs", None, None) => Ok(Topic::Runs),
            ("inbox", None, None) => Ok(Topic::Inbox),
            ("capacity", None, None) => Ok(Topic::Capacity),
            ("run", Some(run), None) => Ok(Topic::Run(run)),
            ("events", Some(run), None) => Ok(Topic::Events(run)),
            ("task", Some(run), Some(task)) => Ok(Topic::Task(run, TaskId(task.into()))),
            _ => Err(ApiError::bad_request(format!("there is no topic `{text}`"))),
        }
    }

    /// The topic as the client has written it.
    pub fn text(&self) -> String {
        match self {
            Topic::Runs => "runs".to_owned(),
            Topic::Inbox => "inbox".to_owned(),
            Topic::Capacity => "capacity".to_owned(),
            Topic::Run(run) => format!("run:{run}"),
            Topic::Events(run) => format!("events:{run}"),
            Topic::Task(run, task) => format!("task:{run}:{task}"),
        }
    }
}

/// Topics with commas between them. A comma inside a name is written `%2C` once more than the address writes it.
pub(super) fn read(text: &str) -> Result<Vec<Topic>, ApiError> {
    let topics = text
        .split(',')
        .filter(|topic| !topic.is_empty())
        .map(|topic| Topic::parse(&topic.replace("%2C", ",")));
    let topics = topics.collect::<Result<Vec<_>, _>>()?;
    bounded(&topics)?;
    Ok(topics)
}

/// Refuses more topics than a page can show.
pub(super) fn bounded(topics: &[Topic]) -> Result<(), ApiError> {
    match topics.len() {
        0..=MOST => Ok(()),
        _ => Err(ApiError::bad_request(format!("at most {MOST} topics in one stream"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_reads_back() {
        let all = "runs,inbox,capacity,run:r1,events:r1,task:r1:g[a:b]/x";
        let topics = read(all).unwrap();
        assert_eq!(topics.iter().map(Topic::text).collect::<Vec<_>>().join(","), all);
        for wrong in ["run", "run:", "runs:r", "task:r", "x"] {
            assert!(Topic::parse(wrong).is_err(), "{wrong}");
        }
        assert!(read(&"runs,".repeat(65)).is_err());
    }
}
