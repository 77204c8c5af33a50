//! Cases: a name, a file, and what is found in it.

use crate::checks::world::{compiled, findings, shown};

/// A name, a file, and the findings: code and line.
pub type Case = (&'static str, &'static str, &'static [(&'static str, usize)]);

pub fn hold(cases: &[Case]) {
    for (name, text, expected) in cases {
        let text = text.trim_start_matches('\n');
        let result = compiled(text);
        assert_eq!(findings(&result), *expected, "{name}:{}", shown(&result));
    }
}
