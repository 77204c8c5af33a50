//! Terms as 64-bit numbers: small values stand inside, everything else lies in the dictionary.
//!
//! The lowest three bits say what a number is. Small integers stay small numbers, which SQLite stores in few bytes, and numbers
//! of one kind sort by value. Invariant: a value stands inside only if it comes back letter for letter.

use oxrdf::vocab::xsd;
use oxrdf::{Literal, Term};
use oxsdatatypes::DateTime;

/// In the dictionary: an IRI or a blank node.
pub const RESOURCE: i64 = 0;
/// Inside: `xsd:integer`.
pub const INTEGER: i64 = 1;
/// Inside: `xsd:dateTime` in UTC, in microseconds.
pub const MOMENT: i64 = 2;
/// Inside: `xsd:boolean`.
pub const BOOLEAN: i64 = 3;
/// In the dictionary: a literal.
pub const LITERAL: i64 = 4;
/// Of one query only: in no store.
pub const LOCAL: i64 = 7;

/// What a number is.
pub fn tag(id: i64) -> i64 {
    id & 7
}

/// What it holds.
pub fn payload(id: i64) -> i64 {
    id >> 3
}

/// A number of a kind.
pub fn pack(tag: i64, payload: i64) -> i64 {
    (payload << 3) | tag
}

/// Whether a value has room beside the tag.
pub fn fits(payload: i64) -> bool {
    (-(1 << 60)..(1 << 60)).contains(&payload)
}

/// The number of a term that needs no dictionary.
pub fn inline(term: &Term) -> Option<i64> {
    let Term::Literal(literal) = term else { return None };
    let (datatype, text) = (literal.datatype(), literal.value());
    if datatype == xsd::INTEGER {
        let number: i64 = text.parse().ok()?;
        (fits(number) && number.to_string() == text).then(|| pack(INTEGER, number))
    } else if datatype == xsd::BOOLEAN {
        match text {
            "true" => Some(pack(BOOLEAN, 1)),
            "false" => Some(pack(BOOLEAN, 0)),
            _ => None,
        }
    } else if datatype == xsd::DATE_TIME {
        let micros = parse_moment(text)?;
        (moment_text(micros) == text).then(|| pack(MOMENT, micros))
    } else {
        None
    }
}

/// The literal that a number holds, where it needs no dictionary.
pub fn outline(id: i64) -> Option<Literal> {
    match tag(id) {
        INTEGER => Some(Literal::new_typed_literal(payload(id).to_string(), xsd::INTEGER)),
        BOOLEAN => {
            let word = if payload(id) == 1 { "true" } else { "false" };
            Some(Literal::new_typed_literal(word, xsd::BOOLEAN))
        }
        MOMENT => Some(Literal::new_typed_literal(moment_text(payload(id)), xsd::DATE_TIME)),
        _ => None,
    }
}

const MICROS_A_SECOND: i64 = 1_000_000;
const SECONDS_A_DAY: i64 = 86_400;

/// Microseconds since 1970 as `2026-11-16T10:26:26.382965Z`, without zeros at the end of the fraction.
pub fn moment_text(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(MICROS_A_SECOND), micros.rem_euclid(MICROS_A_SECOND));
    let (days, second) = (seconds.div_euclid(SECONDS_A_DAY), seconds.rem_euclid(SECONDS_A_DAY));
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}", second % 60);
    if fraction > 0 {
        text.push('.');
        text.push_str(format!("{fraction:06}").trim_end_matches('0'));
    }
    text.push('Z');
    text
}

/// Year, month and day of a number of days since 1970, by the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse of [`moment_text`]; `None` where the text is written otherwise.
pub fn parse_moment(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 || *bytes.last()? != b'Z' || bytes[4] != b'-' || bytes[10] != b'T'
    {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let micros = match bytes[19] {
        b'Z' if bytes.len() == 20 => 0,
        b'.' => {
            let digits = text.get(20..text.len() - 1).filter(|digits| (1..=6).contains(&digits.len()))?;
            digits.parse::<i64>().ok()? * 10_i64.pow(6 - digits.len() as u32)
        }
        _ => return None,
    };
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let days = era * 146_097 + of_era - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * MICROS_A_SECOND + micros)
}

/// A moment as queries compute with it.
pub fn moment(micros: i64) -> DateTime {
    moment_text(micros).parse().expect("a moment that we wrote is a dateTime")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_come_back(micros in -62_135_596_800_000_000_i64..253_402_300_799_000_000) {
            let text = moment_text(micros);
            prop_assert_eq!(parse_moment(&text), Some(micros));
            let term = Literal::new_typed_literal(text, xsd::DATE_TIME);
            let id = inline(&term.clone().into()).expect("it is written as we write it");
            prop_assert_eq!(outline(id), Some(term));
        }

        #[test]
        fn a_value_stands_inside_only_if_it_comes_back(text in "[+-]?[0-9]{1,20}") {
            let term: Term = Literal::new_typed_literal(text, xsd::INTEGER).into();
            if let Some(id) = inline(&term) {
                prop_assert_eq!(outline(id).map(Term::from), Some(term));
            }
        }
    }

    #[test]
    fn other_spellings_of_a_value_are_other_terms() {
        for text in ["01", "+1", "-0", "00", "99999999999999999999"] {
            assert_eq!(inline(&Literal::new_typed_literal(text, xsd::INTEGER).into()), None, "{text}");
        }
        for text in ["2026-11-16T10:26:26.50Z", "2026-11-16T10:26:26+01:00", "2026-13-45T10:26:26Z"] {
            assert_eq!(inline(&Literal::new_typed_literal(text, xsd::DATE_TIME).into()), None, "{text}");
        }
        assert_eq!(payload(pack(INTEGER, -5)), -5);
    }
}
