//! Long results become their beginning and their end; the whole is kept elsewhere.
//!
//! Cuts are made between characters, at the end of a line where one is near. What was left out, and the name under which
//! the whole can be read, stands in the gap.

use super::recall;
use convoke_model::excerpt::head_and_tail;

/// Whether a text has more characters than this.
pub(crate) fn is_longer(text: &str, most: u64) -> bool {
    // Fewer bytes mean fewer characters, and are known without looking.
    text.len() as u64 > most && text.chars().count() as u64 > most
}

/// The beginning and the end of a text, together about as long as `most` characters.
pub(crate) fn shown(text: &str, most: u64, name: &str) -> String {
    head_and_tail(text, most as usize, |left_out| gap(left_out, name))
}

fn gap(left_out: usize, name: &str) -> String {
    format!(
        "[… {left_out} characters are left out here; the whole is kept as `{name}`: read it with `{}` …]",
        recall::NAME
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn head_and_tail_stay_and_the_gap_says_what_is_missing() {
        let text = format!("{}{}", "a".repeat(900), "z".repeat(300));
        let shown = shown(&text, 100, "r7");
        assert!(shown.starts_with(&format!("{}\n[… 1100 characters", "a".repeat(75))), "{shown}");
        assert!(
            shown.ends_with(&format!("`r7`: read it with `read_result` …]\n{}", "z".repeat(25))),
            "{shown}"
        );
    }

    #[test]
    fn cuts_are_at_line_ends_where_they_are_near() {
        let text = (0..1000).map(|at| format!("line {at:04}")).collect::<Vec<_>>().join("\n");
        let shown = shown(&text, 2000, "r1");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.len() == 9 || line.starts_with("[…")), "{shown}");
        assert_eq!((lines[0], lines[lines.len() - 1]), ("line 0000", "line 0999"));
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(!is_longer("éé", 2) && !is_longer("", 0));
        assert!(is_longer("ééé", 2));
    }

    proptest! {
        #[test]
        fn never_panics_and_stays_within_its_bounds(text in "(?s)[a-zé\n]{0,400}", most in 0u64..300) {
            prop_assume!(is_longer(&text, most));
            let shown = shown(&text, most, "r1");
            let gap = gap(text.chars().count(), "r1").chars().count() + 2;
            prop_assert!(shown.chars().count() <= most as usize + gap);
        }
    }
}
