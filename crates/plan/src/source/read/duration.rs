//! Lengths of time: a number of seconds, or a number with `ms`, `s`, `m` or `h`.

use std::time::Duration;

use super::super::text::Spanned;
use super::super::tree::scalar::{Typed, typed};
use super::super::tree::{Node, Value};
use super::Reader;
use super::scalars::Of;

/// What a message says about the form.
const FORM: &str = "a number of seconds, or a number with ms, s, m or h, such as `30`, `500ms`, `5m` or `1h`";

/// Reads `30`, `1.5`, `500ms`, `60s`, `5m` or `1h`; nothing else, nothing negative.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start() {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    Duration::try_from_secs_f64(seconds).ok()
}

impl Reader<'_> {
    /// A length of time that is written out.
    pub fn duration(&mut self, node: &Node, of: Of<'_>) -> Option<Spanned<Duration>> {
        let text = match &node.value {
            Value::Scalar(scalar) => match typed(scalar) {
                Typed::Integer(_) | Typed::Float(_) => scalar.raw.clone(),
                Typed::Text(_) => self.text(node, of)?.value,
                Typed::Null | Typed::Bool(_) => return self.not_a_duration(node, of),
            },
            Value::Broken => return None,
            _ => return self.not_a_duration(node, of),
        };
        match parse_duration(&text) {
            Some(duration) if duration.is_zero() => {
                self.out_of_range(node, of, "greater than 0");
                None
            }
            Some(duration) => Some(Spanned::new(duration, node.span.clone())),
            None => self.not_a_duration(node, of),
        }
    }

    fn not_a_duration<T>(&mut self, node: &Node, of: Of<'_>) -> Option<T> {
        let message = format!("{of} is not a duration: {}", node.describe());
        self.error("workflow::bad_duration", message, &node.span, "not a duration").help =
            Some(format!("write {FORM}"));
        None
    }

    /// A number of seconds.
    pub fn seconds(&mut self, node: &Node, of: Of<'_>, min: f64) -> Option<Spanned<Duration>> {
        // Longer than any run; also what keeps the conversion in range.
        const MAX: f64 = 1e9;
        let seconds = self.number(node, of, (min, f64::MAX))?.min(MAX);
        Some(Spanned::new(Duration::from_secs_f64(seconds), node.span.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_with_an_optional_unit() {
        let good = [
            ("30", 30_000),
            ("1.5", 1500),
            ("500ms", 500),
            ("60s", 60_000),
            ("5m", 300_000),
            ("2 h", 7_200_000),
        ];
        for (text, millis) in good {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5 minutes", "-1s", "m", "1d", "1.2.3s", "inf", "1e400"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
