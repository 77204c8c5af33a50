//! Moments in the two forms that services write them, in seconds since 1970.

/// Seconds since 1970 of a date such as `Wed, 21 Oct 2015 07:28:00 GMT` or `2015-10-21T07:28:00Z`.
pub fn seconds_of(date: &str) -> Option<u64> {
    of_header(date).or_else(|| of_rfc3339(date))
}

fn of_header(date: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut fields = date.split_once(", ")?.1.split([' ', ':']);
    let number = |fields: &mut dyn Iterator<Item = &str>| fields.next()?.parse::<u64>().ok();
    let day = number(&mut fields)?;
    let month = MONTHS.find(fields.next().filter(|name| name.len() == 3)?)? as u64 / 3 + 1;
    let year = number(&mut fields)?;
    let (hour, minute, second) = (number(&mut fields)?, number(&mut fields)?, number(&mut fields)?);
    Some(((days_from_civil(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second)
}

/// Fractions of a second are left out; a time zone other than UTC is not understood.
fn of_rfc3339(date: &str) -> Option<u64> {
    let (day, time) = date.trim().split_once('T')?;
    let time = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00"))?;
    let numbers = |text: &str, at: char| -> Option<[u64; 3]> {
        let numbers: Option<Vec<u64>> = text.split(at).map(|part| part.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    (1..=12).contains(&month).then_some(())?;
    Some(((days_from_civil(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days since 1970-01-01, counting years from March (so that the leap day comes last).
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_mean_the_same_moment() {
        assert_eq!(seconds_of("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
        for text in ["Wed, 21 Oct 2015 07:28:00 GMT", "2015-10-21T07:28:00Z", "2015-10-21T07:28:00.25+00:00"]
        {
            assert_eq!(seconds_of(text), Some(1_445_412_480), "{text}");
        }
        for text in ["soon", "", "2015-10-21", "2015-13-21T07:28:00Z", "2015-10-21T07:28Z"] {
            assert_eq!(seconds_of(text), None, "{text}");
        }
    }
}
