//! What the service's headers say about its limits.

use convoke_agent::{Limits, Meter};
use reqwest::header::HeaderMap;

/// The limits, if the service states any.
pub fn seen(headers: &HeaderMap, model: &str) -> Option<Limits> {
    let (requests, tokens) = (meter(headers, "requests"), meter(headers, "tokens"));
    if requests == Meter::default() && tokens == Meter::default() {
        return None;
    }
    Some(Limits { provider: "openai".into(), model: model.into(), requests, tokens })
}

fn meter(headers: &HeaderMap, what: &str) -> Meter {
    let text = |kind: &str| headers.get(format!("x-ratelimit-{kind}-{what}"))?.to_str().ok();
    let number = |kind: &str| text(kind)?.trim().parse().ok();
    Meter {
        limit: number("limit"),
        remaining: number("remaining"),
        resets_in_ms: text("reset").and_then(millis_of),
    }
}

/// Milliseconds of a duration such as `6m0s`, `1.5s`, `20ms` or plain seconds.
fn millis_of(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return Some((seconds.max(0.0) * 1000.0).ceil() as u64);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        total += number.parse::<f64>().ok()? * unit_in_millis(unit)?;
        rest = after;
    }
    Some(total.ceil() as u64)
}

fn unit_in_millis(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(1.0),
        "s" => Some(1000.0),
        "m" => Some(60_000.0),
        "h" => Some(3_600_000.0),
        "d" => Some(86_400_000.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_meters() {
        let pairs = [
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "6m0.5s"),
            ("x-ratelimit-remaining-tokens", "149984"),
        ];
        let headers = pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect();
        let limits = seen(&headers, "m").unwrap();
        let requests = Meter { limit: Some(60), remaining: Some(59), resets_in_ms: Some(360_500) };
        assert_eq!(limits.requests, requests);
        assert_eq!(limits.tokens.remaining, Some(149_984));
        assert_eq!(seen(&HeaderMap::new(), "m"), None);
    }

    #[test]
    fn durations_are_read_in_every_form() {
        let cases = [("20ms", Some(20)), ("1s", Some(1000)), ("2", Some(2000)), ("1h1m", Some(3_660_000))];
        for (text, wanted) in cases.into_iter().chain([("soon", None), ("1x", None), ("", Some(0))]) {
            assert_eq!(millis_of(text), wanted, "{text}");
        }
    }
}
