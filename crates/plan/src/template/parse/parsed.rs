//! What can be said about a text before anything runs.

use std::collections::BTreeMap;
use std::ops::Range;

use convoke_model::nearest;
use minijinja::Error;
use minijinja::machinery::{parse, parse_expr, tokenize};

use super::super::condition::{self, expression};
use super::super::depth;
use super::super::environment::syntax;
use super::super::error::TemplateError;
use super::super::partials::{candidates, resolve};
use super::super::predicates::TESTS;
use super::super::references::{Inclusion, Mentions, Reference, Use, of_expression, of_template};
use super::super::{filters, globals, is_literal};

/// How deep includes may nest before they are taken to be endless.
const INCLUDE_DEPTH: usize = 20;

/// A template that parses and names nothing unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    references: Vec<Reference>,
    includes: Vec<String>,
}

impl Parsed {
    /// The names of the context that the template and its partials read; those of a partial stand at the include.
    pub fn references(&self) -> Vec<Reference> {
        self.references.clone()
    }

    /// The paths of all partials that the template reaches.
    pub fn includes(&self) -> Vec<String> {
        self.includes.clone()
    }
}

/// A condition that parses and names nothing unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCondition {
    references: Vec<Reference>,
}

impl ParsedCondition {
    /// The names that the condition reads, flattened ones (`score`, `writer_output`) as written.
    pub fn references(&self) -> Vec<Reference> {
        self.references.clone()
    }
}

/// A file that a template asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// The paths it may stand for, in the order they are tried.
    pub candidates: Vec<String>,
    /// Whether the template goes on without it.
    pub optional: bool,
    /// Where, in bytes of the text.
    pub range: Range<usize>,
}

/// The files that a text asks for, to be read before [`parse_template`]; `root` is the file of the outermost text.
///
/// Texts that do not parse, or compute a name, ask for nothing here: `parse_template` says what is wrong.
pub fn find_includes(text: &str, containing: &str, root: &str) -> Vec<Include> {
    if depth::check(text, false).is_err() {
        return Vec::new();
    }
    let Ok(template) = parse(text, "template", syntax()) else { return Vec::new() };
    let include = |inclusion: Inclusion| Include {
        candidates: inclusion.names.iter().flat_map(|name| candidates(name, containing, root)).collect(),
        optional: inclusion.optional || inclusion.names.len() > 1,
        range: inclusion.range,
    };
    of_template(&template).inclusions.into_iter().map(include).collect()
}

/// Parses a template; `base` is the file it came from, `partials` are the files it may include, by path.
pub fn parse_template(
    text: &str,
    base: Option<&str>,
    partials: &BTreeMap<String, String>,
) -> Result<Parsed, TemplateError> {
    if is_literal(text) {
        return Ok(Parsed::default());
    }
    let mentions = mentions_of(text)?;
    let mut parsed = Parsed { references: mentions.references, includes: Vec::new() };
    for inclusion in &mentions.inclusions {
        let Some(base) = base else {
            return Err(TemplateError::new(
                "only a template that comes from a file can include others",
                Some(inclusion.range.clone()),
            )
            .with_help("put the text into a file and name it with `!file`"));
        };
        follow(inclusion, base, base, partials, &mut parsed, 0)
            .map_err(|error| TemplateError { range: Some(inclusion.range.clone()), ..error })?;
    }
    Ok(parsed)
}

/// Parses a condition.
pub fn parse_condition(text: &str) -> Result<ParsedCondition, TemplateError> {
    let place = expression(text)?;
    let inside = &text[place.clone()];
    let shifted = |range: Range<usize>| range.start + place.start..range.end + place.start;
    let shift = |error: TemplateError| TemplateError { range: error.range.map(shifted), ..error };
    let (template, _) = condition::template(text);
    depth::check(&template, false).map_err(|error| TemplateError { range: Some(place.clone()), ..error })?;
    let expr = parse_expr(inside)
        .and_then(|expr| readable(inside, true).map(|()| expr))
        .map_err(|error| explain_condition(inside, shift(syntax_error(&error))))?;
    let mut mentions = of_expression(&expr);
    judge(&mentions).map_err(shift)?;
    depth::check_rewritten(&template)
        .map_err(|error| TemplateError { range: Some(place.clone()), ..error })?;
    for reference in &mut mentions.references {
        reference.range = shifted(reference.range.clone());
    }
    Ok(ParsedCondition { references: mentions.references })
}

fn mentions_of(text: &str) -> Result<Mentions, TemplateError> {
    depth::check(text, false)?;
    let template = parse(text, "template", syntax())
        .and_then(|template| readable(text, false).map(|()| template))
        .map_err(|error| syntax_error(&error))?;
    let mentions = of_template(&template);
    judge(&mentions)?;
    depth::check_rewritten(text)?;
    Ok(mentions)
}

/// Whether every character belongs to a token: the parser takes some that do not for the end of the text.
fn readable(text: &str, in_expr: bool) -> Result<(), Error> {
    tokenize(text, in_expr, syntax()).try_for_each(|token| token.map(|_| ()))
}

fn syntax_error(error: &Error) -> TemplateError {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let found = TemplateError::new(format!("template syntax error: {detail}"), error.range());
    if detail.starts_with("unexpected `=`") { found.with_help(COMPARE) } else { found }
}

/// Advice for a single `=`, which compares nothing.
const COMPARE: &str = "write `==` to compare";

/// Says what a condition looks like that was written as in another language.
fn explain_condition(text: &str, error: TemplateError) -> TemplateError {
    let error = error.without_kind();
    if text.contains("&&") || text.contains("||") || text.contains('!') && !text.contains("!=") {
        return error.with_help("write `and`, `or` and `not`");
    }
    if assigns(text) {
        return error.with_help(COMPARE);
    }
    if text.contains("f'") || text.contains("f\"") {
        return error.with_help("f-strings are not known here: join texts with `~`");
    }
    if text.contains(['&', '^']) || text.contains("<<") || text.contains(">>") {
        return error.with_help("bit operators are not known here");
    }
    error
}

/// Whether a single `=` stands between two things.
fn assigns(text: &str) -> bool {
    let bytes = text.as_bytes();
    let other =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| b"=!<>".contains(byte));
    let single =
        |at: usize| bytes[at] == b'=' && !other(at.checked_sub(1)) && bytes.get(at + 1) != Some(&b'=');
    (0..bytes.len()).any(single)
}

/// Refuses names that nothing answers to.
fn judge(mentions: &Mentions) -> Result<(), TemplateError> {
    let tests: Vec<&str> = TESTS.iter().map(|(name, ..)| *name).collect();
    known("filter", &mentions.filters, filters::NAMES)?;
    known("test", &mentions.tests, &tests)?;
    known("function", &mentions.functions, &globals::NAMES)
}

fn known(kind: &str, uses: &[Use], names: &[&str]) -> Result<(), TemplateError> {
    let Some((name, range)) = uses.iter().find(|(name, _)| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let error = TemplateError::new(format!("unknown {kind} `{name}`"), Some(range.clone()));
    Err(match nearest(name, names.iter().copied()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error,
    })
}

/// Reads what an include leads to, and what that leads to.
fn follow(
    inclusion: &Inclusion,
    containing: &str,
    root: &str,
    partials: &BTreeMap<String, String>,
    parsed: &mut Parsed,
    depth: usize,
) -> Result<(), TemplateError> {
    if inclusion.names.is_empty() {
        return Err(TemplateError::new(
            "the name of an included file must be a constant",
            Some(inclusion.range.clone()),
        )
        .with_help("choose between constant includes with `if`"));
    }
    if depth > INCLUDE_DEPTH {
        return Err(TemplateError::new("includes nest too deeply", Some(inclusion.range.clone())));
    }
    let found = inclusion.names.iter().find_map(|name| resolve(name, containing, root, partials));
    let Some((path, text)) = found else { return missing(inclusion, containing, root) };
    if parsed.includes.iter().any(|known| known == path) {
        return Ok(());
    }
    parsed.includes.push(path.to_owned());
    let in_file =
        |error: TemplateError| TemplateError { message: format!("`{path}`: {}", error.message), ..error };
    let mentions = mentions_of(text).map_err(in_file)?;
    let at_include = |reference: Reference| Reference { range: inclusion.range.clone(), ..reference };
    parsed.references.extend(mentions.references.into_iter().map(at_include));
    for inner in &mentions.inclusions {
        let inner = Inclusion { range: inclusion.range.clone(), ..inner.clone() };
        follow(&inner, path, root, partials, parsed, depth + 1)?;
    }
    Ok(())
}

fn missing(inclusion: &Inclusion, containing: &str, root: &str) -> Result<(), TemplateError> {
    if inclusion.optional {
        return Ok(());
    }
    let looked: Vec<String> =
        inclusion.names.iter().flat_map(|name| candidates(name, containing, root)).collect();
    let message = format!("the included file `{}` is missing", inclusion.names.join("` or `"));
    Err(TemplateError::new(message, Some(inclusion.range.clone()))
        .with_help(format!("looked for `{}`", looked.join("`, `"))))
}
