//! What well-known models cost and how many tokens they take in: a dated table, made by `scripts/model-table`.
//!
//! Rows are facts of public price lists. Whether a row may be used (a provider at its own address, a newer file in place of this
//! table) is decided by the caller. A name that no row matches is unknown: this table never guesses.

use crate::Price;
use std::cell::RefCell;
use std::fmt;
use std::sync::LazyLock;

/// The table that the program is built with.
const BUILT_IN: &str = include_str!("catalog/models.tsv");

/// The columns of a table, in their order.
const COLUMNS: [&str; 12] = [
    "provider",
    "model",
    "window",
    "input",
    "output",
    "cache_read",
    "cache_write",
    "above",
    "input_above",
    "output_above",
    "cache_read_above",
    "cache_write_above",
];

/// A table of models, with the day that its prices hold on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    /// The day, such as `2026-11-16`.
    pub date: String,
    /// Where the rows come from.
    pub source: String,
    /// The rows; the first that matches counts.
    pub rows: Vec<Row>,
}

/// What is known of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The service that serves it.
    pub provider: String,
    /// Its name: `#` stands for a digit, `*` at the end for anything.
    pub model: String,
    /// The tokens that it takes in.
    pub window: Option<u64>,
    /// What it costs at this service.
    pub price: Price,
}

/// A line of a table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

/// The table that the program is built with.
pub fn built_in() -> &'static Catalog {
    static TABLE: LazyLock<Catalog> =
        LazyLock::new(|| Catalog::parse(BUILT_IN).expect("a test reads the table"));
    &TABLE
}

/// The tokens that a model takes in, as its service says: the smallest window where only other services list the name. A date at
/// the end of the name may be one that the table does not have.
pub fn known_window(provider: &str, model: &str) -> Option<u64> {
    RECENT_WINDOWS.with_borrow_mut(|recent| {
        if let Some(found) = recent.iter().find(|found| found.model == model && found.provider == provider) {
            return found.window;
        }
        let window = listed_window(provider, model);
        if recent.len() == RECENT {
            recent.remove(0);
        }
        recent.push(FoundWindow { provider: provider.to_owned(), model: model.to_owned(), window });
        window
    })
}

/// How many windows are remembered. Each attempt of a run asks for the same few models, and the table is long.
const RECENT: usize = 8;

thread_local! {
    static RECENT_WINDOWS: RefCell<Vec<FoundWindow>> = const { RefCell::new(Vec::new()) };
}

/// A window that was looked up.
struct FoundWindow {
    provider: String,
    model: String,
    window: Option<u64>,
}

/// The same, looked up in the table.
fn listed_window(provider: &str, model: &str) -> Option<u64> {
    let table = built_in();
    let named = |model: &str| {
        let own = table.find(provider, model).and_then(|row| row.window);
        let others = || table.rows.iter().filter(|row| row.matches(model)).filter_map(|row| row.window).min();
        own.or_else(others)
    };
    named(model).or_else(|| named(without_date(model)?))
}

/// `gpt-5.2` for `gpt-5.2-2027-01-31` and `gpt-5.2-20270131`.
fn without_date(model: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    [11, 9].iter().find_map(|length| {
        let at = model.len().checked_sub(*length)?;
        let (name, date) = model.is_char_boundary(at).then(|| model.split_at(at))?;
        (date.starts_with('-') && digits(date) && !name.is_empty()).then_some(name)
    })
}

/// The service whose price list holds for a provider: two names may stand for one service.
pub fn service(provider: &str) -> &str {
    match provider {
        "openai-responses" => "openai",
        "claude" => "anthropic",
        other => other,
    }
}

impl Row {
    /// Whether the row is about this model.
    fn matches(&self, model: &str) -> bool {
        let (pattern, open) = match self.model.strip_suffix('*') {
            Some(prefix) => (prefix, true),
            None => (self.model.as_str(), false),
        };
        let long_enough = if open { model.len() >= pattern.len() } else { model.len() == pattern.len() };
        long_enough && pattern.bytes().zip(model.bytes()).all(|(want, have)| fits(want, have))
    }
}

/// Services take names in any case.
fn fits(want: u8, have: u8) -> bool {
    if want == b'#' { have.is_ascii_digit() } else { want.eq_ignore_ascii_case(&have) }
}

impl Catalog {
    /// What is known of a model at a provider.
    pub fn find(&self, provider: &str, model: &str) -> Option<&Row> {
        let service = service(provider);
        self.rows.iter().find(|row| row.provider == service && row.matches(model))
    }

    /// Reads a table: comments that begin with `#`, the names of the columns, a row a line, `-` for what is not known.
    ///
    /// # Errors
    ///
    /// Every line that cannot be read.
    pub fn parse(text: &str) -> Result<Catalog, Vec<BadLine>> {
        let mut table = Catalog::default();
        let mut faults = Vec::new();
        let mut named = false;
        for (at, line) in text.lines().enumerate() {
            let bad = |fault| BadLine { line: at + 1, fault };
            match line.strip_prefix('#') {
                Some(comment) => table.note(comment),
                None if line.trim().is_empty() => {}
                None if !named && line == COLUMNS.join("\t") => named = true,
                None if !named => {
                    faults.push(bad(format!("expected the columns {}", COLUMNS.join(", "))));
                    break;
                }
                None => match row(line) {
                    Ok(row) => table.rows.push(row),
                    Err(fault) => faults.push(bad(fault)),
                },
            }
        }
        if faults.is_empty() && (table.date.is_empty() || table.rows.is_empty()) {
            let fault = "expected a line `# as of: YEAR-MONTH-DAY`, the columns and at least one row";
            faults.push(BadLine { line: 1, fault: fault.to_owned() });
        }
        if faults.is_empty() { Ok(table) } else { Err(faults) }
    }

    fn note(&mut self, comment: &str) {
        if let Some(date) = comment.trim().strip_prefix("as of:") {
            self.date = date.trim().to_owned();
        } else if let Some(source) = comment.trim().strip_prefix("source:") {
            self.source = source.trim().to_owned();
        }
    }
}

impl fmt::Display for Catalog {
    /// As [`Catalog::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# as of: {}\n# source: {}\n{}", self.date, self.source, COLUMNS.join("\t"))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(row)))
    }
}

fn row(line: &str) -> Result<Row, String> {
    let cells: Vec<_> = line.split('\t').collect();
    let [provider, model, numbers @ ..] = cells.as_slice() else {
        return Err(format!("expected {} columns, found {}", COLUMNS.len(), cells.len()));
    };
    if cells.len() != COLUMNS.len() {
        return Err(format!("expected {} columns, found {}", COLUMNS.len(), cells.len()));
    }
    if provider.is_empty() || model.is_empty() {
        return Err("expected a provider and a model".to_owned());
    }
    let cell = |column: &str| {
        let at = COLUMNS[2..].iter().position(|name| *name == column).expect("a column of ours");
        number(column, numbers[at])
    };
    let needed = |column: &str| cell(column)?.ok_or_else(|| format!("`{column}` is missing"));
    let price = Price {
        input_per_mtok: needed("input")?,
        output_per_mtok: needed("output")?,
        cache_read_per_mtok: cell("cache_read")?.unwrap_or_default(),
        cache_write_per_mtok: cell("cache_write")?.unwrap_or_default(),
        long_prompt: None,
        listed: true,
    };
    let long_prompt = match cell("above")? {
        None => None,
        Some(above) => Some(crate::LongPrompt {
            above: above as u64,
            input_per_mtok: cell("input_above")?.unwrap_or(price.input_per_mtok),
            output_per_mtok: cell("output_above")?.unwrap_or(price.output_per_mtok),
            cache_read_per_mtok: cell("cache_read_above")?.unwrap_or(price.cache_read_per_mtok),
            cache_write_per_mtok: cell("cache_write_above")?.unwrap_or(price.cache_write_per_mtok),
        }),
    };
    Ok(Row {
        provider: (*provider).to_owned(),
        model: (*model).to_owned(),
        window: cell("window")?.map(|tokens| tokens as u64),
        price: Price { long_prompt, ..price },
    })
}

/// A number from 0, or nothing for `-`.
fn number(column: &str, text: &str) -> Result<Option<f64>, String> {
    if text == "-" {
        return Ok(None);
    }
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.map(Some).ok_or_else(|| format!("`{column}`: expected a number from 0 or `-`, found `{text}`"))
}

fn line(row: &Row) -> String {
    let price = &row.price;
    let some = |number: f64| if number > 0.0 { number.to_string() } else { "-".to_owned() };
    let tokens = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let long = price.long_prompt;
    let above = |number: fn(crate::LongPrompt) -> f64| long.map_or("-".to_owned(), |long| some(number(long)));
    [
        row.provider.clone(),
        row.model.clone(),
        tokens(row.window),
        price.input_per_mtok.to_string(),
        price.output_per_mtok.to_string(),
        some(price.cache_read_per_mtok),
        some(price.cache_write_per_mtok),
        tokens(long.map(|long| long.above)),
        above(|long| long.input_per_mtok),
        above(|long| long.output_per_mtok),
        above(|long| long.cache_read_per_mtok),
        above(|long| long.cache_write_per_mtok),
    ]
    .join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_read_and_written_alike() {
        let table = built_in();
        assert!(table.rows.len() > 500 && table.date.starts_with("20"));
        assert_eq!(Catalog::parse(&table.to_string()).as_ref(), Ok(table));
    }

    #[test]
    fn windows_are_those_of_the_table_however_often_they_are_asked_for() {
        let rows = built_in().rows.iter().take(4 * RECENT);
        for row in rows.clone().chain(rows).flat_map(|row| [row, row]) {
            let (provider, model) = (&row.provider, &row.model);
            assert_eq!(known_window(provider, model), listed_window(provider, model), "{provider}/{model}");
        }
        let held = RECENT_WINDOWS.with_borrow(Vec::len);
        assert_eq!(held, RECENT);
    }

    #[test]
    fn names_are_found_exactly_then_by_digits_then_by_their_beginning() {
        let price = |provider, model| built_in().find(provider, model).map(|row| row.price.input_per_mtok);
        assert_eq!(price("openai", "gpt-4o-2024-05-13"), Some(5.0));
        assert_eq!(price("openai-responses", "GPT-4o"), Some(2.5));
        assert_eq!(price("claude", "claude-haiku-4-5-20251001"), Some(1.0));
        assert_eq!(price("anthropic", "claude-opus-5-20991231"), Some(5.0));
        assert_eq!(price("anthropic", "claude-opus-5-2099123x"), None);
        assert_eq!(price("openai", "gpt-4o-2099-01-01"), None);
        assert_eq!(price("azure", "gpt-4o"), None);
        let long = built_in().find("gemini", "gemini-2.5-pro").and_then(|row| row.price.long_prompt);
        assert_eq!(long.map(|long| (long.above, long.input_per_mtok)), Some((200_000, 2.5)));
    }

    #[test]
    fn windows_are_known_wherever_a_model_is_served() {
        assert_eq!(known_window("openai", "gpt-4o"), Some(128_000));
        assert_eq!(known_window("openai", "gpt-4o-2099-01-01"), Some(128_000));
        assert_eq!(known_window("azure", "gpt-4o"), Some(128_000));
        assert_eq!(known_window("anthropic", "claude-haiku-4-5"), Some(200_000));
        assert_eq!(known_window("ollama", "my-own-model"), None);
        assert_eq!(known_window("openai", "é-2099-01-01"), None);
    }

    #[test]
    fn every_line_that_cannot_be_read_is_named() {
        let head = format!("# as of: 2026-01-01\n{}\n", COLUMNS.join("\t"));
        let text = format!("{head}openai\tm\t-\t1\n\nopenai\tm\t-\tx\t1\t-\t-\t-\t-\t-\t-\t-\n");
        let faults: Vec<_> = Catalog::parse(&text).unwrap_err().iter().map(BadLine::to_string).collect();
        assert_eq!(
            faults,
            [
                "line 3: expected 12 columns, found 4",
                "line 5: `input`: expected a number from 0 or `-`, found `x`",
            ]
        );
        assert!(Catalog::parse(&head).is_err() && Catalog::parse("a,b\n").is_err());
    }
}
