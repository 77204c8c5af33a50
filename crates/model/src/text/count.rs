//! A number with its noun, as messages say it.

/// `1 child`, `3 children`: the number, and the noun that goes with it.
pub fn counted(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let said = |number: usize| counted(number, "child", "children");
        assert_eq!([said(0), said(1), said(2)], ["0 children", "1 child", "2 children"]);
    }
}
