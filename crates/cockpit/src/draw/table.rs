//! A table of which only the rows that there is room for are made.

use super::text;
use super::theme::Theme;
use crate::cursor::Cursor;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// One column.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its width; 0: what is left.
    pub width: u16,
    /// Whether numbers stand in it.
    pub right: bool,
}

/// A column of texts.
pub const fn left(name: &'static str, width: u16) -> Column {
    Column { name, width, right: false }
}

/// A column of numbers.
pub const fn right(name: &'static str, width: u16) -> Column {
    Column { name, width, right: true }
}

/// One row: a text and a style for each column.
pub type Cells = Vec<(String, Style)>;

/// Draws a table with as many of its rows as there is room for; `row` makes one of them.
pub fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    columns: &[Column],
    (cursor, length): (&mut Cursor, usize),
    theme: Theme,
    row: impl Fn(usize) -> Cells,
) {
    let widths = widths(columns, area.width);
    let names = columns.iter().map(|column| (column.name.to_owned(), theme.dim())).collect();
    line(frame, Rect { height: 1, ..area }, columns, &widths, names, None);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    for (index, y) in cursor.window(length, body.height.into()).zip(body.y..) {
        let chosen = (index == cursor.at).then(|| theme.chosen());
        line(frame, Rect { y, height: 1, ..body }, columns, &widths, row(index), chosen);
    }
}

/// The last columns give way where there is no room for all; those without a width share the rest.
fn widths(columns: &[Column], all: u16) -> Vec<u16> {
    let mut widths: Vec<u16> = columns.iter().map(|column| column.width).collect();
    let least = |width: &u16| if *width == 0 { SHARED } else { *width } + 1;
    while widths.len() > 2 && widths.iter().map(least).sum::<u16>() > all {
        widths.pop();
    }
    let rest = all.saturating_sub(widths.iter().sum::<u16>() + widths.len() as u16);
    let sharers = widths.iter().filter(|width| **width == 0).count() as u16;
    widths.iter_mut().filter(|width| **width == 0).for_each(|width| *width = rest / sharers);
    widths
}

/// Columns that one without a width has at least.
const SHARED: u16 = 12;

fn line(
    frame: &mut Frame<'_>,
    area: Rect,
    columns: &[Column],
    widths: &[u16],
    cells: Cells,
    chosen: Option<Style>,
) {
    if area.y >= frame.area().bottom() {
        return;
    }
    let mut x = area.x;
    for ((column, width), (cell, style)) in columns.iter().zip(widths).zip(cells) {
        let cell = text::fit(&cell, (*width).into());
        let gap = if column.right { (*width).saturating_sub(cell.width() as u16) } else { 0 };
        frame.buffer_mut().set_string(x + gap, area.y, cell, style);
        x += width + 1;
    }
    if let Some(chosen) = chosen {
        frame.buffer_mut().set_style(Rect { height: 1, ..area }, chosen);
    }
}
