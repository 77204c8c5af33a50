//! Values as they are typed: pairs, ages, amounts.

use std::time::Duration;

/// What a goal may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spending {
    /// Dollars.
    Dollars(f64),
    /// Tokens, sent and received.
    Tokens(u64),
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// The beginning of a hash, long enough to mean something.
pub(super) fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.chars().all(|c| c.is_ascii_hexdigit()) && (8..=64).contains(&text.len());
    is_hash.then(|| text.to_ascii_lowercase()).ok_or_else(|| "expected 8 to 64 hexadecimal digits".to_owned())
}

/// The name may hold the sign itself; the number does not.
pub(super) fn last_pair(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("expected NAME=N".to_owned()),
    }
}

/// How many times quicker; no pauses at all are 0.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.trim() {
        "max" => Ok(0.0),
        number => number
            .trim_end_matches('x')
            .parse()
            .ok()
            .filter(|speed: &f64| speed.is_finite() && *speed >= 0.0)
            .ok_or_else(|| format!("`{text}` is neither a number such as 10 nor `max`")),
    }
}

pub(super) fn spending(text: &str) -> Result<Spending, String> {
    let wrong = || format!("`{text}` is neither dollars, such as 2.50, nor tokens, such as 200000t");
    let plain = text.trim().trim_start_matches('$').replace('_', "");
    match plain.strip_suffix('t') {
        Some(tokens) => {
            tokens.parse().ok().filter(|count| *count > 0).map(Spending::Tokens).ok_or_else(wrong)
        }
        None => plain
            .parse()
            .ok()
            .filter(|usd: &f64| usd.is_finite() && *usd > 0.0)
            .map(Spending::Dollars)
            .ok_or_else(wrong),
    }
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write a number and s, m or h, such as 90s, of at least 1s");
    convoke_plan::source::parse_duration(text).filter(|time| time.as_secs() >= 1).ok_or_else(wrong)
}

pub fn age(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no age; write a number and d, h, m or s, such as 30d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// A size on the disk, in bytes: `5GB` as disks are sold, `5GiB` as memory is.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write a number and kB, MB, GB or TB, such as 5GB");
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * factor as f64;
    if bytes < 1e18 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_goal_may_cost_is_dollars_or_tokens() {
        assert_eq!(spending("2.50"), Ok(Spending::Dollars(2.5)));
        assert_eq!(spending("$3"), Ok(Spending::Dollars(3.0)));
        assert_eq!(spending("200_000t"), Ok(Spending::Tokens(200_000)));
        assert!(["0", "-1", "t", "nan", "many"].iter().all(|text| spending(text).is_err()));
    }

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time("1.5h"), Ok(Duration::from_secs(5_400)));
        assert!(["0s", "soon", "-3m", "10ms"].iter().all(|text| time(text).is_err()));
    }

    #[test]
    fn ages_are_numbers_with_a_unit() {
        assert_eq!(age("30d").unwrap().as_secs(), 30 * 86_400);
        assert!(age("30").is_err() && age("x").is_err() && age("3w").is_err());
    }

    #[test]
    fn sizes_are_numbers_with_a_unit() {
        assert_eq!(size("5GB"), Ok(5_000_000_000));
        assert_eq!(size("1.5 MiB"), Ok(1_572_864));
        assert_eq!(size("800m"), Ok(800_000_000));
        assert!(["5", "GB", "-1GB", "1.2.3GB", "5PB", "99999999TB"].iter().all(|text| size(text).is_err()));
    }
}
