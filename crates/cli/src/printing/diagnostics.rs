//! Diagnostics for people (drawn by miette) and for programs (JSON).
//!
//! Whatever the terminal, the text holds `file:line:column`, so that editors and people can find the place.

use crate::escape::{self, Excerpt};
use crate::paint::Paint;
use convoke_plan::diagnostic::{Diagnostic, Severity, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};
use serde::Serialize;

/// A line longer than this is not shown: its place is said, the line itself would bury it.
const LONGEST_LINE: usize = 1_000;

/// A diagnostic as programs get it.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    code: &'a str,
    severity: Severity,
    message: &'a str,
    file: Option<&'a str>,
    line: Option<usize>,
    column: Option<usize>,
    help: Option<&'a str>,
}

impl<'a> Record<'a> {
    /// The record of a diagnostic.
    pub fn of(found: &'a Diagnostic) -> Record<'a> {
        let span = found.labels.first().map(|label| &label.span);
        let place = span.map(Span::line_column);
        Record {
            code: found.code,
            severity: found.severity,
            message: &found.message,
            file: span.map(|span| span.file.path.as_str()),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            help: found.help.as_deref(),
        }
    }
}

/// A diagnostic as people get it, with the place underlined.
pub fn draw(found: &Diagnostic, width: usize, paint: Paint) -> String {
    let theme = if paint.is_on() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width.max(60)).with_links(false);
    let mut text = String::new();
    match shown_span(found) {
        Some(span) => {
            let report = miette::Report::new(report(found, Some(span)))
                .with_source_code(NamedSource::new(shown_path(span), Excerpt::of(&span.file.text).text()));
            handler.render_report(&mut text, report.as_ref()).expect("text takes text");
        }
        None => handler.render_report(&mut text, &report(found, None)).expect("text takes text"),
    }
    add_places(&mut text, found);
    escape::own(&text)
}

/// The drawing is coloured, so what it is made of holds nothing that a terminal obeys: its escapes are ours.
fn shown_path(span: &Span) -> String {
    escape::line(&span.file.path).into_owned()
}

/// The first place, if it has lines that can be shown: a file that is missing has none.
fn shown_span(found: &Diagnostic) -> Option<&Span> {
    let first = &found.labels.first()?.span;
    // A file that may not be quoted comes as blanks.
    if first.file.text.trim().is_empty() {
        return None;
    }
    let inside = found.labels.iter().filter(|label| same_file(&label.span, first));
    inside.map(|label| &label.span).all(|span| longest_line_near(span) <= LONGEST_LINE).then_some(first)
}

/// Lines between two places that are still drawn in one frame.
const NEAR: usize = 8;

/// Whether two places are drawn together: what lies between them is drawn as well.
fn is_near(a: &Span, b: &Span) -> bool {
    same_file(a, b) && a.line_column().0.abs_diff(b.line_column().0) <= NEAR
}

fn same_file(a: &Span, b: &Span) -> bool {
    std::sync::Arc::ptr_eq(&a.file, &b.file)
}

fn longest_line_near(span: &Span) -> usize {
    let text = span.file.text.as_bytes();
    let (start, end) = (span.range.start.min(text.len()), span.range.end.min(text.len()));
    let before = text[..start].iter().rposition(|byte| *byte == b'\n').map_or(start, |at| start - at);
    let after = text[end..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - end);
    // One line of context on either side is drawn as well, but it is the labelled one that can be a whole prompt.
    before + (end - start) + after
}

fn report(found: &Diagnostic, shown: Option<&Span>) -> MietteDiagnostic {
    let severity = match found.severity {
        Severity::Error => miette::Severity::Error,
        Severity::Warning => miette::Severity::Warning,
    };
    let mut report =
        MietteDiagnostic::new(escape::text(&found.message)).with_code(found.code).with_severity(severity);
    if let Some(help) = &found.help {
        report = report.with_help(escape::text(help));
    }
    let Some(shown) = shown else { return report };
    let inside = found.labels.iter().filter(|label| is_near(&label.span, shown));
    report.with_labels(inside.enumerate().map(|(i, label)| {
        let range = clamped(&label.span);
        let words = Some(escape::text(&label.text).into_owned()).filter(|text| !text.is_empty());
        match i {
            0 => LabeledSpan::new_primary_with_span(words, range),
            _ => LabeledSpan::new_with_span(words, range),
        }
    }))
}

fn clamped(span: &Span) -> (usize, usize) {
    let excerpt = Excerpt::of(&span.file.text);
    let start = excerpt.place_of(span.range.start);
    (start, excerpt.place_of(span.range.end).max(start) - start)
}

/// Places that the drawing does not name, in plain text.
fn add_places(text: &mut String, found: &Diagnostic) {
    for (i, label) in found.labels.iter().enumerate() {
        let (line, column) = label.span.line_column();
        let place = format!("{}:{line}:{column}", shown_path(&label.span));
        let elsewhere = !is_near(&label.span, &found.labels[0].span);
        // Of a file without a line, its name is the place.
        let named = label.span.file.text.is_empty() && found.message.contains(&label.span.file.path);
        if (i == 0 || elsewhere) && !named && !text.contains(&place) {
            text.push_str(&format!("  at {place}: {}\n", escape::text(&label.text)));
            if elsewhere {
                text.push_str(&line_of(&label.span, line));
            }
        }
    }
}

/// The line of a place, where it can be shown.
fn line_of(span: &Span, number: usize) -> String {
    match span.file.text.lines().nth(number - 1).filter(|line| line.len() <= LONGEST_LINE) {
        Some(line) => format!("    {number} │ {}\n", escape::text(line)),
        None => String::new(),
    }
}

/// Errors and warnings among some diagnostics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many errors.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
}

impl Tally {
    /// Counts.
    pub fn of(diagnostics: &[Diagnostic]) -> Tally {
        let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
        Tally { errors, warnings: diagnostics.len() - errors }
    }

    /// Whether a run must not start.
    pub fn refuses(self, strict: bool) -> bool {
        self.errors > 0 || strict && self.warnings > 0
    }

    /// `2 errors and 1 warning`; empty if there is nothing.
    pub fn words(self) -> String {
        let one = |count: usize, noun| (count > 0).then(|| crate::view::format::plural(count as u64, noun));
        let parts: Vec<_> =
            [one(self.errors, "error"), one(self.warnings, "warning")].into_iter().flatten().collect();
        parts.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_plan::diagnostic::SourceFile;
    use std::sync::Arc;

    fn span(text: &str, range: std::ops::Range<usize>) -> Span {
        Span { file: Arc::new(SourceFile { path: "w.yaml".into(), text: text.into() }), range }
    }

    #[test]
    fn the_place_is_underlined_and_named() {
        let at = span("a: 1\nbb: two\n", 9..12);
        let found = Diagnostic::error("workflow::wrong", "`bb` is no number", at, "expected a number")
            .help("write 2");
        let text = draw(&found, 80, Paint::off());
        for part in
            ["workflow::wrong", "`bb` is no number", "w.yaml:2:5", "expected a number", "help: write 2"]
        {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn characters_count_as_one_column() {
        let at = span("ä: \"öö\" x\n", 11..12);
        let found = Diagnostic::warning("workflow::odd", "odd", at, "");
        assert!(draw(&found, 80, Paint::off()).contains("w.yaml:1:9"));
    }

    #[test]
    fn a_line_of_ten_megabytes_is_named_but_not_shown() {
        let text = format!("p: {}\n", "x".repeat(10_000_000));
        let found = Diagnostic::error("workflow::long", "too much", span(&text, 3..9), "here");
        let drawn = draw(&found, 80, Paint::off());
        assert!(drawn.contains("w.yaml:1:4") && drawn.len() < 500, "{}", drawn.len());
    }

    #[test]
    fn a_place_outside_the_text_is_no_crash() {
        for text in ["", "x", "x\n"] {
            let found = Diagnostic::error("c", "m", span(text, 70..90), "l");
            draw(&found, 80, Paint::off());
            Record::of(&found);
        }
    }

    #[test]
    fn a_file_without_a_line_has_no_frame() {
        let found = Diagnostic::error(
            "file::missing",
            "workflow file `w.yaml` does not exist",
            span("", 0..0),
            "no such file",
        );
        assert_eq!(
            draw(&found, 80, Paint::off()),
            "file::missing\n\n  × workflow file `w.yaml` does not exist\n"
        );
    }

    #[test]
    fn two_places_far_apart_are_shown_without_what_lies_between() {
        let text = format!("first: 1\n{}second: 2\n", "between\n".repeat(300));
        let at = text.find("second").unwrap();
        let file = Arc::new(SourceFile { path: "w.yaml".into(), text });
        let place = |range| Span { file: file.clone(), range };
        let found =
            Diagnostic::error("c", "m", place(at..at + 6), "again").also(place(0..5), "first seen here");
        let drawn = draw(&found, 80, Paint::off());
        assert!(drawn.contains("second: 2") && drawn.contains("again"), "{drawn}");
        assert!(drawn.contains("at w.yaml:1:1: first seen here\n    1 │ first: 1\n"), "{drawn}");
        assert!(drawn.lines().filter(|line| line.contains("between")).count() <= 2, "{drawn}");
    }

    #[test]
    fn a_second_file_is_named_too() {
        let other =
            Span { file: Arc::new(SourceFile { path: "b.yaml".into(), text: "q\n".into() }), range: 0..1 };
        let found = Diagnostic::error("c", "m", span("x\n", 0..1), "l").also(other, "first seen here");
        assert!(draw(&found, 80, Paint::off()).contains("at b.yaml:1:1: first seen here"));
    }
}
