//! What the service's headers say about its limits.

use crate::dates::seconds_of;
use convoke_agent::{Limits, Meter};
use reqwest::header::HeaderMap;

/// No limit lasts for thirty years: a number of seconds from here on is a moment.
const MOMENT: f64 = 1e9;

/// The limits, if the service states any.
pub fn seen(headers: &HeaderMap, provider: &str, model: &str) -> Option<Limits> {
    let (requests, tokens) = (meter(headers, "requests"), meter(headers, "tokens"));
    if requests == Meter::default() && tokens == Meter::default() {
        return None;
    }
    Some(Limits { provider: provider.into(), model: model.into(), requests, tokens })
}

/// Three families of names are in use; no service sends two. The one that does not say what it counts (OpenRouter, many
/// gateways) counts requests.
fn meter(headers: &HeaderMap, what: &str) -> Meter {
    let text = |kind: &str| {
        let names = [format!("x-ratelimit-{kind}-{what}"), format!("anthropic-ratelimit-{what}-{kind}")];
        let plain = (what == "requests").then(|| format!("x-ratelimit-{kind}"));
        names.iter().chain(&plain).find_map(|name| headers.get(name)?.to_str().ok())
    };
    let number = |kind: &str| text(kind)?.trim().parse().ok();
    Meter {
        limit: number("limit"),
        remaining: number("remaining"),
        resets_in_ms: text("reset").and_then(|reset| resets_in(reset.trim(), headers)),
    }
}

/// Milliseconds until a limit is reset, which services state as a time span or as a moment.
fn resets_in(text: &str, headers: &HeaderMap) -> Option<u64> {
    match moment(text) {
        Some(moment) => {
            let now = seconds_of(headers.get("date")?.to_str().ok()?)?;
            Some(moment.saturating_sub(now * 1000))
        }
        None => millis_of(text),
    }
}

/// A moment in milliseconds since 1970: a date, or so many seconds or milliseconds that it can be no time span.
fn moment(text: &str) -> Option<u64> {
    match text.parse::<f64>() {
        Ok(number) if number >= MOMENT * 1000.0 => Some(number as u64),
        Ok(number) if number >= MOMENT => Some((number * 1000.0) as u64),
        Ok(_) => None,
        Err(_) => Some(seconds_of(text)? * 1000),
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
        let limits = seen(&headers, "openai", "m").unwrap();
        let requests = Meter { limit: Some(60), remaining: Some(59), resets_in_ms: Some(360_500) };
        assert_eq!(limits.requests, requests);
        assert_eq!(limits.tokens.remaining, Some(149_984));
        assert_eq!(seen(&HeaderMap::new(), "openai", "m"), None);
    }

    #[test]
    fn moments_are_measured_against_the_responses_own() {
        let pairs = [
            ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2015-10-21T07:28:09Z"),
            ("anthropic-ratelimit-tokens-remaining", "8000"),
        ];
        let headers = pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect();
        let limits = seen(&headers, "anthropic", "m").unwrap();
        assert_eq!(limits.requests, Meter { limit: Some(50), remaining: Some(0), resets_in_ms: Some(9000) });
        assert_eq!(limits.tokens.remaining, Some(8000));
    }

    #[test]
    fn plain_names_count_requests_and_moments_may_be_numbers() {
        for (reset, wanted) in [("1445412489000", 9000), ("1445412489", 9000), ("9", 9000), ("1445412400", 0)]
        {
            let pairs = [
                ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
                ("x-ratelimit-limit", "20"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", reset),
            ];
            let headers = pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect();
            let limits = seen(&headers, "openrouter", "m").unwrap();
            let requests = Meter { limit: Some(20), remaining: Some(0), resets_in_ms: Some(wanted) };
            assert_eq!((limits.requests, limits.tokens), (requests, Meter::default()), "{reset}");
        }
    }

    #[test]
    fn durations_are_read_in_every_form() {
        let cases = [("20ms", Some(20)), ("1s", Some(1000)), ("2", Some(2000)), ("1h1m", Some(3_660_000))];
        for (text, wanted) in cases.into_iter().chain([("soon", None), ("1x", None), ("", Some(0))]) {
            assert_eq!(millis_of(text), wanted, "{text}");
        }
    }
}
