//! Texts that look like a key of a well-known issuer.
//!
//! A value that is not in the list of known secrets can still be one: a model may quote a key out of a file. A text that only
//! looks random is left alone.

use super::scrubber::MARK;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Keys as their issuers write them.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)
        -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[\s\S]*?-----END\ [A-Z\ ]*PRIVATE\ KEY-----
        | \b(?: sk-[A-Za-z0-9_-]{20,}
            | (?:AKIA|ASIA)[0-9A-Z]{16}
            | gh[opusr]_[A-Za-z0-9]{20,}
            | github_pat_[A-Za-z0-9_]{20,}
            | glpat-[A-Za-z0-9_-]{20,}
            | xox[abeprs]-[A-Za-z0-9-]{10,}
            | AIza[0-9A-Za-z_-]{35}
            | ya29\.[0-9A-Za-z_-]{20,}
            | hf_[A-Za-z0-9]{30,}
            | gsk_[A-Za-z0-9]{30,}
            | (?:sk|rk)_live_[A-Za-z0-9]{16,}
            | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
            | [Bb]earer\ +[A-Za-z0-9._~+/-]{20,}=* )",
    )
});
/// What could be base64 of a key.
static BASE64: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+/_-]{24,}={0,2}"));
/// What could be hex of a key.
static HEX: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:[0-9a-fA-F]{2}){18,}\b"));
/// What has percent escapes.
static PERCENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[A-Za-z0-9._~-]*(?:%[0-9A-Fa-f]{2}[A-Za-z0-9._~-]*)+"));

/// Takes either alphabet's text once the second is written in the first, with its end cut anywhere.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of ours")
}

/// The text without keys.
pub fn without(text: &str) -> String {
    let text = KEY.replace_all(text, MARK);
    let text = decoded(&text, &PERCENT, from_percent);
    let text = decoded(&text, &HEX, from_hex);
    let text = decoded(&text, &BASE64, from_base64);
    backwards(&text)
}

/// Replaces what holds a key once it is decoded.
fn decoded<'a>(text: &'a str, candidates: &Regex, decode: fn(&str) -> Option<Vec<u8>>) -> Cow<'a, str> {
    candidates.replace_all(text, |found: &Captures<'_>| {
        let plain = decode(&found[0]).unwrap_or_default();
        let holds_key = KEY.is_match(&String::from_utf8_lossy(&plain));
        if holds_key { MARK.to_owned() } else { found[0].to_owned() }
    })
}

fn backwards(text: &str) -> String {
    let reversed: String = text.chars().rev().collect();
    match KEY.is_match(&reversed) {
        false => text.to_owned(),
        true => {
            let mark: String = MARK.chars().rev().collect();
            KEY.replace_all(&reversed, mark).chars().rev().collect()
        }
    }
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let even = if text.len() % 4 == 1 { &text[..text.len() - 1] } else { &text };
    FORGIVING.decode(even).ok()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()).collect()
}

fn from_percent(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_known_issuers_go_in_every_form() {
        for text in [
            "sk-proj-abcdefghijklmnop1234",
            "c2stcHJvai1hYmNkZWZnaGlqa2xtbm9wMTIzNA==",
            "736b2d70726f6a2d6162636465666768696a6b6c6d6e6f7031323334",
            "%73%6b-proj-abcdefghijklmnop1234",
            "4321ponmlkjihgfedcba-jorp-ks",
            "AKIAABCDEFGHIJKLMNOP",
            "Bearer abcdefghijklmnopqrstuv==",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJl",
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        ] {
            assert_eq!(without(&format!("({text})")), "([secret])", "{text}");
        }
    }

    #[test]
    fn what_is_no_key_stays() {
        for text in [
            "a task-force-about-risk-management-and-more",
            "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "crates/providers/src/cassette/replay_and_record_them_all",
            "100%25 sure, 20% off",
            "run 20260102-030405-abcd at /tmp/x.y on 2026-01-02",
        ] {
            assert_eq!(without(text), text);
        }
    }
}
