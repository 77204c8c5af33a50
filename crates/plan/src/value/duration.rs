//! Durations as people write them: `5m`, `1.5h`, `300ms`, `20`.

use std::time::Duration;

/// The longest that a `wait` step may take.
pub const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// A text that is no duration, or one that is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It cannot be read.
    #[error("`{0}` is not a duration: write seconds, or a number with ms, s, m or h")]
    Invalid(String),
    /// It is zero or negative.
    #[error("the duration `{0}` is not above zero")]
    NotPositive(String),
    /// It is longer than a step may wait.
    #[error("the duration `{0}` is longer than 24 hours (86400 s)")]
    TooLong(String),
}

/// Reads seconds, or a number with a unit (`ms`, `s`, `m`, `h`).
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(unit_at);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(DurationError::Invalid(text.to_owned())),
    };
    let number = number.trim_end();
    let shaped = number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    match number.parse::<f64>() {
        Ok(number) if shaped => seconds(number * factor).map_err(|error| error.about(text)),
        _ => Err(DurationError::Invalid(text.to_owned())),
    }
}

/// A number of seconds as a duration.
pub fn seconds(number: f64) -> Result<Duration, DurationError> {
    if number < 0.0 {
        return Err(DurationError::NotPositive(number.to_string()));
    }
    Duration::try_from_secs_f64(number).map_err(|_| match number.is_nan() {
        true => DurationError::Invalid(number.to_string()),
        false => DurationError::TooLong(number.to_string()),
    })
}

/// Whether a `wait` step may take so long; `text` is how the duration was written.
pub fn check_wait(duration: Duration, text: &str) -> Result<Duration, DurationError> {
    match duration {
        Duration::ZERO => Err(DurationError::NotPositive(text.to_owned())),
        long if long > LONGEST_WAIT => Err(DurationError::TooLong(text.to_owned())),
        fine => Ok(fine),
    }
}

impl DurationError {
    /// The same error about the text as it was written.
    fn about(self, text: &str) -> DurationError {
        let text = text.to_owned();
        match self {
            DurationError::Invalid(_) => DurationError::Invalid(text),
            DurationError::NotPositive(_) => DurationError::NotPositive(text),
            DurationError::TooLong(_) => DurationError::TooLong(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        let cases = [
            ("5m", 300_000),
            ("200ms", 200),
            ("1.5h", 5_400_000),
            ("20", 20_000),
            ("0.3", 300),
            (" 2 s ", 2_000),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text:?}");
        }
        for text in ["", "true", "m", "5 days", "1e400h", "nan", "inf", "5mm", "None"] {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_wait_is_above_zero_and_at_most_a_day() {
        let checked = |text: &str| parse_duration(text).and_then(|duration| check_wait(duration, text));
        assert_eq!(checked("24h"), Ok(LONGEST_WAIT));
        assert_eq!(checked("0"), Err(DurationError::NotPositive("0".to_owned())));
        assert_eq!(checked("-5s"), Err(DurationError::NotPositive("-5s".to_owned())));
        assert_eq!(checked("25h"), Err(DurationError::TooLong("25h".to_owned())));
    }
}
