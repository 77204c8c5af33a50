//! What is wrong with a query before it runs.

use super::Bounds;
use crate::{Error, vocab};
use spargebra::algebra::GraphPattern;
use spargebra::{Query, SparqlParser};
use sparopt::algebra::{GraphPattern as Optimised, JoinAlgorithm};

/// Signs that open something. Each takes a frame of the parser's stack.
const OPENING: [char; 4] = ['(', '{', '[', '!'];

/// The most signs of one kind that may be open at once, or stand in a row.
const OPEN_AT_ONCE: usize = 200;

/// Rows of a part that may meet every row of another.
const FEW: usize = 100;

/// The query, if it may run.
pub(super) fn checked(text: &str, bounds: &Bounds) -> Result<Query, Error> {
    let refuse = |why: String| Err(Error::Refused(why));
    if text.len() > bounds.text {
        return refuse(format!("the query has {} bytes, more than {}", text.len(), bounds.text));
    }
    if is_deep(text) {
        return refuse(format!(
            "the query is nested too deeply: more than {OPEN_AT_ONCE} signs are open at once"
        ));
    }
    let query = match parse(text) {
        Ok(query) => query,
        Err(_) if is_update(text) => {
            return refuse(
                "this is an update: the graph is made from journals, and nothing else changes it".into(),
            );
        }
        Err(why) => return refuse(format!("not a SPARQL query: {why}")),
    };
    let pattern = pattern_of(&query);
    look(pattern, 0, bounds)?;
    let optimised = sparopt::Optimizer::optimize_graph_pattern(pattern.into());
    if is_product(&optimised) {
        return refuse(
            "two parts of the query have no variable in common: every row of one would meet every row of the other".into(),
        );
    }
    Ok(query)
}

/// Reads a query; the prefixes that we know need not be declared.
fn parse(text: &str) -> Result<Query, String> {
    let mut parser = SparqlParser::new();
    for (prefix, space) in vocab::PREFIXES {
        parser = parser.with_prefix(prefix, space).map_err(|error| error.to_string())?;
    }
    parser.parse_query(text).map_err(|error| error.to_string())
}

/// Whether more stands open at once than parsers and evaluators have stack for. Texts and comments are not told apart: no honest query
/// comes near.
fn is_deep(text: &str) -> bool {
    let mut open = [0_usize; OPENING.len()];
    for c in text.chars() {
        match c {
            '(' | '{' | '[' | '!' => {
                let kind = OPENING.iter().position(|sign| *sign == c).unwrap_or_default();
                open[kind] += 1;
                if open[kind] > OPEN_AT_ONCE {
                    return true;
                }
            }
            ')' => open[0] = open[0].saturating_sub(1),
            '}' => open[1] = open[1].saturating_sub(1),
            ']' => open[2] = open[2].saturating_sub(1),
            c if c.is_whitespace() => {}
            _ => open[3] = 0,
        }
    }
    false
}

fn is_update(text: &str) -> bool {
    let words = ["insert", "delete", "load", "drop", "clear", "create", "copy", "move", "add"];
    let mut first = text.split_whitespace().map(str::to_ascii_lowercase);
    first.any(|word| words.contains(&word.as_str()))
}

fn pattern_of(query: &Query) -> &GraphPattern {
    match query {
        Query::Select { pattern, .. }
        | Query::Ask { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. } => pattern,
    }
}

fn look(pattern: &GraphPattern, depth: usize, bounds: &Bounds) -> Result<(), Error> {
    use GraphPattern::*;
    if depth > bounds.depth {
        return Err(Error::Refused(format!("the query is nested deeper than {} groups", bounds.depth)));
    }
    match pattern {
        Service { .. } => Err(Error::Refused("SERVICE is not there: nothing outside is asked".into())),
        Bgp { .. } | Path { .. } | Values { .. } => Ok(()),
        Join { left, right }
        | LeftJoin { left, right, .. }
        | Union { left, right }
        | Minus { left, right }
        | Lateral { left, right } => {
            look(left, depth + 1, bounds).and_then(|()| look(right, depth + 1, bounds))
        }
        Filter { inner, .. }
        | Graph { inner, .. }
        | Extend { inner, .. }
        | OrderBy { inner, .. }
        | Project { inner, .. }
        | Distinct { inner }
        | Reduced { inner }
        | Slice { inner, .. }
        | Group { inner, .. } => look(inner, depth + 1, bounds),
    }
}

/// Whether parts without a common variable are joined, both of them large.
fn is_product(pattern: &Optimised) -> bool {
    match pattern {
        Optimised::Join { left, right, algorithm } => {
            let JoinAlgorithm::HashBuildLeftProbeRight { keys } = algorithm;
            keys.is_empty() && !is_small(left) && !is_small(right) || is_product(left) || is_product(right)
        }
        Optimised::Lateral { left, right }
        | Optimised::LeftJoin { left, right, .. }
        | Optimised::Minus { left, right, .. } => is_product(left) || is_product(right),
        Optimised::Filter { inner, .. }
        | Optimised::Extend { inner, .. }
        | Optimised::OrderBy { inner, .. }
        | Optimised::Project { inner, .. }
        | Optimised::Distinct { inner }
        | Optimised::Reduced { inner }
        | Optimised::Slice { inner, .. }
        | Optimised::Group { inner, .. }
        | Optimised::Service { inner, .. } => is_product(inner),
        Optimised::Union { inner } => inner.iter().any(is_product),
        _ => false,
    }
}

fn is_small(pattern: &Optimised) -> bool {
    match pattern {
        Optimised::Values { bindings, .. } => bindings.len() <= FEW,
        Optimised::Group { variables, .. } => variables.is_empty(),
        Optimised::Extend { inner, .. }
        | Optimised::Filter { inner, .. }
        | Optimised::Project { inner, .. } => is_small(inner),
        Optimised::Slice { length: Some(length), .. } => *length <= FEW,
        _ => false,
    }
}
