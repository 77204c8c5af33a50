//! The encodings in which a known secret may turn up.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::fmt::Write as _;

/// Characters that no address has to escape.
const PLAIN: &[u8] = b"-._~";

/// A secret in every encoding that a [`Scrubber`](super::Scrubber) finds.
pub fn encodings_of(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), json(secret), secret.chars().rev().collect()];
    let hex = hex(secret.as_bytes());
    forms.push(hex.to_uppercase());
    forms.push(hex);
    forms.extend(base64(secret.as_bytes()));
    for always in [true, false] {
        let upper = percent(secret.as_bytes(), always);
        let lower = lower_escapes(&upper);
        forms.extend([upper.replace("%20", "+"), lower.replace("%20", "+"), upper, lower]);
    }
    forms
}

/// The secret as it stands inside a JSON text.
fn json(secret: &str) -> String {
    let quoted = serde_json::to_string(secret).expect("text is JSON");
    quoted[1..quoted.len() - 1].to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes text");
        text
    })
}

/// What a secret always leaves in base64, wherever in a group of three bytes it begins: the characters that do not
/// depend on what stands before and after it.
fn base64(bytes: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let padded = [&[0; 2][..before], bytes].concat();
        let (from, to) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            // At the end of a text the last character belongs to the secret alone.
            forms.push(format!("{}{}", &encoded[from..], "=".repeat((3 - padded.len() % 3) % 3)));
            forms.push(encoded[from..].to_owned());
            forms.push(encoded[from..to].to_owned());
        }
    }
    forms
}

fn percent(bytes: &[u8], always: bool) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if !always && (byte.is_ascii_alphanumeric() || PLAIN.contains(byte)) {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02X}").expect("text takes text");
        }
        text
    })
}

/// The same with small letters in escapes, as some encoders write them.
fn lower_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escape, rest) = part.split_at(2);
        write!(out, "%{}{rest}", escape.to_lowercase()).expect("text takes text");
    }
    out
}
