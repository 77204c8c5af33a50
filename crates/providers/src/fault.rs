//! A service's "no", and what it means for us.
//!
//! The class comes from the status and the machine-readable code, never from the words. The words are passed on.

use crate::dates::seconds_of;
use convoke_model::excerpt::clipped;
use convoke_model::{Class, Failure, reason};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Words of a service are cut here.
const MOST_WORDS: usize = 600;

/// The fields in which programs pass on the status that a service gave them.
const STATUS_NAMES: [&str; 5] = ["statusCode", "status_code", "api_error_status", "status", "code"];

/// An answer that is an error.
#[derive(Debug)]
pub struct Fault {
    status: StatusCode,
    code: String,
    parameter: String,
    message: String,
    retry_after_ms: Option<u64>,
}

impl Fault {
    /// Reads the error from a response: its status, its headers, its body.
    pub fn read(status: StatusCode, headers: &HeaderMap, text: String) -> Fault {
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let fault = Fault::told(status, &body);
        Fault { retry_after_ms: retry_after(headers).or(fault.retry_after_ms), ..fault }
    }

    /// Reads the error that a stream carries instead of an answer.
    pub fn in_stream(error: &Value) -> Fault {
        let code = error.get("code").and_then(|code| match code {
            Value::String(text) => text.parse().ok(),
            number => number.as_u64().and_then(|number| u16::try_from(number).ok()),
        });
        let word = |key: &str| error.get(key).and_then(Value::as_str).and_then(status_of);
        let code = code.or_else(|| word("type")).or_else(|| word("code"));
        let status =
            code.and_then(|code| StatusCode::from_u16(code).ok()).filter(|status| !status.is_success());
        Fault::told(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error)
    }

    /// Reads the error that a program states in fields: a status under one of the usual names, if there is one.
    pub fn stated(about: &Value) -> Option<Fault> {
        let status = STATUS_NAMES.iter().find_map(|name| about.get(name)?.as_u64());
        let status = status.and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok())?;
        (status.is_client_error() || status.is_server_error()).then(|| Fault::told(status, about))
    }

    fn told(status: StatusCode, body: &Value) -> Fault {
        // Some services wrap what would have been a stream of one piece into a list.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").unwrap_or(body);
        let text = |key: &str| match error.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let message = match error.as_str() {
            Some(words) => words.to_owned(),
            None => text("message"),
        };
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let detail = |key: &str| details.iter().find_map(|detail| detail.get(key)?.as_str());
        let reason = detail("reason").unwrap_or_default();
        let code = format!("{} {} {} {reason}", text("code"), text("type"), text("status"));
        let parameter = text("param");
        let retry_after_ms = detail("retryDelay").and_then(millis_of_delay);
        Fault { status, code, parameter, message: clipped(message.trim(), MOST_WORDS), retry_after_ms }
    }

    /// Whether the request itself was refused.
    pub fn is_bad_request(&self) -> bool {
        matches!(self.status.as_u16(), 400 | 422)
    }

    /// Whether the service names this parameter.
    pub fn is_about(&self, parameter: &str) -> bool {
        self.parameter.contains(parameter) || self.message.contains(parameter)
    }

    /// What it means.
    pub fn failure(self, provider: &str) -> Failure {
        let (class, reason) = self.class();
        let status = self.status;
        let words = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        let mut failure = Failure::new(class, format!("{provider} answered {status}{words}")).reason(reason);
        failure.hint = hint(class, reason).map(str::to_owned);
        failure.retry_after_ms = self.retry_after_ms;
        failure
    }

    fn is_overflow(&self) -> bool {
        let worded = |(code, words): &(&str, &str)| self.code.contains(code) && self.message.contains(words);
        self.status == StatusCode::PAYLOAD_TOO_LARGE
            || OVERFLOWS.iter().any(|code| self.code.contains(code))
            || (self.is_bad_request() && WORDED_OVERFLOWS.iter().any(worded))
    }

    fn class(&self) -> (Class, &'static str) {
        let says = |word: &str| self.code.contains(word);
        match self.status.as_u16() {
            _ if says("insufficient_quota") || says("billing") => (Class::Budget, "insufficient_quota"),
            _ if says("API_KEY_INVALID") => (Class::Permission, "credentials"),
            _ if says("content_filter") || says("content_policy") => (Class::Refused, "content_filter"),
            429 => (Class::RateLimit, "status_429"),
            401 | 403 | 407 => (Class::Permission, "credentials"),
            402 => (Class::Budget, "payment_required"),
            408 => (Class::Timeout, "status_408"),
            503 | 529 => (Class::Capacity, "overloaded"),
            409 | 425 | 500.. => (Class::Transient, "server_error"),
            _ if self.is_overflow() => (Class::Fatal, reason::CONTEXT_OVERFLOW),
            404 => (Class::Fatal, "not_found"),
            _ => (Class::Fatal, "bad_request"),
        }
    }
}

/// The codes by which services say that a conversation is too long for the model.
const OVERFLOWS: [&str; 3] = ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];

/// Some services have no code for it. Beside the code that they use for any bad request, these words of theirs are the
/// only sign, and without it a conversation that could be shortened would fail: the one place where words are read.
const WORDED_OVERFLOWS: [(&str, &str); 3] = [
    ("invalid_request_error", "prompt is too long"),
    ("INVALID_ARGUMENT", "input token count"),
    ("BadRequestError", "maximum context length"),
];

/// The status that a service would have given, had its answer not begun.
fn status_of(word: &str) -> Option<u16> {
    Some(match word {
        "invalid_request_error" => 400,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// Milliseconds of a delay such as `30s` or `1.5s`.
fn millis_of_delay(text: &str) -> Option<u64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Some((seconds.max(0.0) * 1000.0).ceil() as u64)
}

fn hint(class: Class, reason: &str) -> Option<&'static str> {
    match (class, reason) {
        (Class::Permission, _) => Some("check the key and what it may be used for"),
        (_, "not_found") => Some("check `base_url` and the model's name"),
        (_, "insufficient_quota" | "payment_required") => Some("check the account's balance and limits"),
        (_, reason::CONTEXT_OVERFLOW) => Some("shorten the prompt, or set `context.max_tokens`"),
        (_, "bad_request") => Some("check the model's name and the request's parameters"),
        _ => None,
    }
}

/// When to come back, in milliseconds: seconds, or a date measured against the response's own.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Some(millis.max(0.0).ceil() as u64);
    }
    let stated = text("retry-after")?;
    if let Ok(seconds) = stated.parse::<f64>() {
        return Some((seconds.max(0.0) * 1000.0).ceil() as u64);
    }
    let (then, now) = (seconds_of(stated)?, seconds_of(text("date")?)?);
    Some(then.saturating_sub(now) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(status: u16, body: Value) -> Failure {
        Fault::told(StatusCode::from_u16(status).unwrap(), &body).failure("openai")
    }

    #[test]
    fn every_status_has_its_class() {
        for (status, class) in [
            (429, Class::RateLimit),
            (408, Class::Timeout),
            (500, Class::Transient),
            (502, Class::Transient),
            (504, Class::Transient),
            (520, Class::Transient),
            (503, Class::Capacity),
            (529, Class::Capacity),
            (401, Class::Permission),
            (403, Class::Permission),
            (402, Class::Budget),
            (400, Class::Fatal),
            (404, Class::Fatal),
            (422, Class::Fatal),
            (302, Class::Fatal),
        ] {
            let failure = failure(status, json!({"error": {"message": "no", "code": null}}));
            assert_eq!(failure.class, class, "{status}");
            assert!(failure.message.contains(&status.to_string()) && failure.message.ends_with(": no"));
        }
    }

    #[test]
    fn codes_say_more_than_the_status() {
        let with =
            |status, code: &str| failure(status, json!({"error": {"message": "m", "code": code}})).class;
        assert_eq!(with(429, "insufficient_quota"), Class::Budget);
        assert_eq!(with(400, "content_filter"), Class::Refused);
    }

    #[test]
    fn a_conversation_that_is_too_long_is_known_from_every_service() {
        for (status, error) in [
            (
                400,
                json!({"code": "context_length_exceeded", "type": "invalid_request_error", "message": "m"}),
            ),
            (400, json!({"code": 400, "type": "exceed_context_size_error", "n_ctx": 8192, "message": "m"})),
            (
                400,
                json!({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}),
            ),
            (413, json!({"type": "request_too_large", "message": "m"})),
            (
                400,
                json!({"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (9) exceeds"}),
            ),
            (
                400,
                json!({"type": "BadRequestError", "message": "This model's maximum context length is 8 tokens"}),
            ),
        ] {
            let failure = failure(status, json!({"error": error.clone()}));
            let told = (failure.class, failure.reason.as_deref());
            assert_eq!(told, (Class::Fatal, Some("context_overflow")), "{error}");
        }
        let other = json!({"error": {"type": "invalid_request_error", "message": "no such tool"}});
        assert_eq!(failure(400, other).reason.as_deref(), Some("bad_request"));
        let words = json!({"error": {"type": "rate_limit_error", "message": "prompt is too long"}});
        assert_eq!(failure(429, words).class, Class::RateLimit);
    }

    #[test]
    fn any_body_gives_words() {
        assert_eq!(failure(400, json!("plain")).message, "openai answered 400 Bad Request: plain");
        assert_eq!(failure(400, json!({"error": "e"})).message, "openai answered 400 Bad Request: e");
        assert_eq!(failure(500, json!({})).message, "openai answered 500 Internal Server Error");
        assert!(failure(400, json!("é".repeat(5000))).message.len() < 1300);
    }

    #[test]
    fn the_time_to_come_back_is_read_in_every_form() {
        let from = |pairs: &[(&'static str, &str)]| {
            retry_after(&pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect())
        };
        assert_eq!(from(&[("retry-after", "2")]), Some(2000));
        assert_eq!(from(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(from(&[("retry-after-ms", "120"), ("retry-after", "9")]), Some(120));
        let date = ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(from(&[date, ("date", "Wed, 21 Oct 2015 07:27:30 GMT")]), Some(30_000));
        assert_eq!(from(&[date, ("date", "Thu, 22 Oct 2015 07:27:30 GMT")]), Some(0));
        assert_eq!(from(&[("retry-after", "soon")]), None);
    }

    #[test]
    fn an_error_in_a_stream_is_a_fault() {
        for (error, class) in [
            (json!({"code": 429, "message": "m"}), Class::RateLimit),
            (json!({"message": "m"}), Class::Transient),
            (json!({"type": "overloaded_error", "message": "m"}), Class::Capacity),
            (json!({"type": "rate_limit_error", "message": "m"}), Class::RateLimit),
            (json!({"code": "rate_limit_exceeded", "message": "m"}), Class::RateLimit),
            (json!({"type": "api_error", "message": "m"}), Class::Transient),
            (json!({"type": "invalid_request_error", "message": "m"}), Class::Fatal),
        ] {
            assert_eq!(Fault::in_stream(&error).failure("x").class, class, "{error}");
        }
    }

    #[test]
    fn details_say_why_and_when() {
        let delay = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"});
        let body = json!([{"error": {"code": 429, "message": "m", "details": [delay]}}]);
        let failure = failure(429, body);
        assert_eq!((failure.class, failure.retry_after_ms), (Class::RateLimit, Some(1500)));
        let body =
            json!({"error": {"code": 400, "message": "m", "details": [{"reason": "API_KEY_INVALID"}]}});
        assert_eq!(self::failure(400, body).class, Class::Permission);
    }
}
