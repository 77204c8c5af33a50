//! The nearest known name to an unknown one.

/// The known name that is most likely meant, if one is near enough.
pub(super) fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let far = 1 + unknown.chars().count() / 3;
    known
        .into_iter()
        .map(|name| (distance(unknown, name), name))
        .filter(|(steps, _)| *steps <= far)
        .min()
        .map(|(_, name)| name)
}

/// Letters to add, drop or change to get from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in to.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_name() {
        let known = ["upper", "lower", "length", "default"];
        assert_eq!(nearest("uper", known), Some("upper"));
        assert_eq!(nearest("lenght", known), Some("length"));
        assert_eq!(nearest("frobnicate", known), None);
    }
}
