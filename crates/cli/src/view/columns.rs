//! Columns without lines between them: each as wide as its widest cell. Lists may have ten thousand rows, so a row costs little
//! more than its letters.

use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Rows of as many cells as there are heads.
pub struct Columns<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Columns<N> {
    /// Columns with these heads.
    pub fn new(heads: [&str; N]) -> Columns<N> {
        Columns { rows: vec![heads.map(str::to_owned)] }
    }

    /// One more row.
    pub fn add_row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The text, without what is left over at the ends of lines.
    pub fn text(&self) -> String {
        aligned(&self.rows)
    }
}

/// Rows in columns, heads first, where their number is not known before.
pub fn aligned<R: AsRef<[String]>>(rows: &[R]) -> String {
    let mut widths = vec![0; rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0)];
    for row in rows {
        widths.iter_mut().zip(row.as_ref()).for_each(|(widest, cell)| *widest = width(cell).max(*widest));
    }
    let mut text = String::with_capacity(rows.len() * (widths.iter().sum::<usize>() + 2 * widths.len()));
    for row in rows {
        for (cell, widest) in row.as_ref().iter().zip(&widths) {
            let room = widest - width(cell) + 1;
            write!(text, " {cell}{:room$}", "").expect("text takes text");
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

fn width(cell: &str) -> usize {
    if cell.is_ascii() { cell.len() } else { cell.width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell() {
        let mut columns = Columns::new(["RUN", "USED", ""]);
        columns.add_row(["a".into(), "日本 tokens".into(), String::new()]);
        columns.add_row(["long".into(), "é".into(), "x".into()]);
        assert_eq!(columns.text(), " RUN   USED\n a     日本 tokens\n long  é            x\n");
    }
}
