//! Numbers, times and names as people read them.

pub use convoke_model::excerpt::leading_line as first_line;
use convoke_model::{Segment, TaskId, Timestamp, Usage};
use std::time::Duration;

/// A length of time, short: `350 ms`, `4.2 s`, `3 m 05 s`, `2 h 14 m`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds / 60 % 60),
    }
}

/// A count, short from ten thousand on: `950`, `9999`, `12.4k`, `3.1M`.
pub fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// A size on the disk: `950 B`, `36.8 kB`, `1.2 GB`.
pub fn bytes(number: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", number / unit, number % unit * 10 / unit);
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// A count with its noun: `1 step`, `3 steps`.
pub fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Tokens and money, without what is zero; `None` if nothing was used.
pub fn usage(usage: &Usage) -> Option<String> {
    let tokens = usage.input_tokens + usage.output_tokens;
    let about = if usage.estimated { "about " } else { "" };
    let tokens = (tokens > 0).then(|| format!("{about}{}", plural(tokens, "token")));
    let cost = cost(usage);
    match (tokens, cost) {
        (Some(tokens), Some(cost)) => Some(format!("{tokens}, {cost}")),
        (tokens, cost) => tokens.or(cost),
    }
}

/// What was paid; what is not known is said to be. `None` where nothing was paid.
pub fn cost(usage: &Usage) -> Option<String> {
    match (usage.cost_micros, usage.unpriced_calls) {
        (0, 0) => None,
        (0, _) => Some("cost unknown".to_owned()),
        (known, 0) => Some(money(known)),
        (known, _) => Some(format!("{} and an unknown cost", money(known))),
    }
}

/// Millionths of a US dollar: `$0.0042`, `$1.25`.
pub fn money(micros: u64) -> String {
    let dollars = micros as f64 / 1e6;
    if dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

/// The time of day in UTC, for a line of a log.
pub fn clock(at: Timestamp) -> String {
    at.rfc3339()[11..19].to_owned()
}

/// The path of a task with names as their authors wrote them: `reports/2024`, not `reports%2F2024`.
pub fn task(task: &TaskId) -> String {
    if !task.0.contains('%') {
        return task.to_string();
    }
    let part = |part: Segment| {
        let key = part.key.map(|key| format!("[{key}]")).unwrap_or_default();
        let visit = if part.visit > 1 { format!("#{}", part.visit) } else { String::new() };
        format!("{}{key}{visit}", part.node)
    };
    task.segments().map(part).collect::<Vec<_>>().join("/")
}

/// The name of the node that a task belongs to: the last part of its path, without key and visit.
pub fn node(task: &TaskId) -> String {
    task.segments().last().map(|segment| segment.node).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let shown = |millis| duration(Duration::from_millis(millis));
        assert_eq!(
            [shown(5), shown(4_250), shown(185_000), shown(8_040_000)],
            ["5 ms", "4.2 s", "3 m 05 s", "2 h 14 m"]
        );
    }

    #[test]
    fn counts_are_short() {
        assert_eq!([count(9_999), count(12_440), count(3_100_000)], ["9999", "12.4k", "3.1M"]);
        assert_eq!([plural(1, "step"), plural(0, "step")], ["1 step", "0 steps"]);
    }

    #[test]
    fn what_was_not_used_is_not_shown() {
        assert_eq!(usage(&Usage::default()), None);
        let used = Usage { input_tokens: 1, cost_micros: 1_250_000, estimated: true, ..Usage::default() };
        assert_eq!(usage(&used).as_deref(), Some("about 1 token, $1.25"));
    }

    #[test]
    fn names_are_shown_as_written_and_messages_by_their_first_line() {
        let above = TaskId::new(None, "a/b [x]", Some("50%"), 1);
        let id = TaskId::new(Some(&above), "write", None, 2);
        assert_eq!(task(&id), "a/b [x][50%]/write#2");
        assert_eq!(first_line("\n\none\ntwo"), "one …");
    }
}
