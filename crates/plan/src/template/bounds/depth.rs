//! How deeply a template nests, told from its tokens before anything walks it by recursion.
//!
//! Minijinja builds a tree, compiles it and frees it by recursion, and bounds only brackets and blocks: a chain of twenty
//! thousand `-`, `elif`, `+` or filters is as many levels and would end the process. So the levels are counted first, in
//! one pass, and what has too many is a finding.
//!
//! Invariant: the tree of a text that passes here has at most about twice [`LEVELS`] levels.

use std::ops::Range;

use minijinja::machinery::{Token, parse, tokenize};

use super::super::environment::syntax;
use super::super::error::TemplateError;
use super::super::rewrite::rewrite;

/// Levels of one expression, and of blocks around each other. Python has the same bound for brackets.
const LEVELS: usize = 200;

/// The levels of a text that does not nest too deeply; texts that are no templates are left to the parser.
pub(in crate::template) fn check(text: &str, in_expression: bool) -> Result<usize, TemplateError> {
    let mut deepest = 0;
    let mut blocks = Blocks::default();
    let mut expression = Expression::default();
    let mut tokens = tokenize(text, in_expression, syntax()).map_while(Result::ok).peekable();
    while let Some((token, span)) = tokens.next() {
        let range = span.start_offset as usize..span.end_offset as usize;
        match token {
            Token::TemplateData(_) | Token::VariableStart | Token::VariableEnd | Token::BlockEnd => {
                expression = Expression::default();
            }
            Token::BlockStart => {
                if let Some((Token::Ident(keyword), _)) = tokens.peek() {
                    blocks.keyword(keyword);
                }
                expression = Expression::default();
            }
            token => expression.read(&token),
        }
        deepest = deepest.max(expression.levels()).max(blocks.levels());
        if deepest > LEVELS {
            return Err(too_deep(range));
        }
    }
    Ok(deepest)
}

const SURELY_FINE: usize = 30;

/// Refuses a text that also nests too deeply once it is rewritten, which is the text that runs.
pub(in crate::template) fn check_rewritten(text: &str) -> Result<(), TemplateError> {
    // A level becomes at most four of the parser's, which takes 150.
    if check(text, false)? <= SURELY_FINE {
        return Ok(());
    }
    let rewritten = rewrite(text);
    match parse(&rewritten.text, "template", syntax()) {
        Err(error) if error.detail().is_some_and(|detail| detail.contains("recursion limit")) => {
            let range = error.range().map(|range| rewritten.original(range));
            Err(too_deep(range.unwrap_or(0..text.len())))
        }
        _ => Ok(()),
    }
}

fn too_deep(range: Range<usize>) -> TemplateError {
    TemplateError::new(format!("the template nests more than {LEVELS} levels deep"), Some(range))
        .with_help("split it: name parts with `{% set %}`, or let a step compute them")
}

/// The blocks that are open. Each `elif` lies inside the one before it.
#[derive(Default)]
struct Blocks {
    open: Vec<usize>,
    sum: usize,
}

impl Blocks {
    fn keyword(&mut self, keyword: &str) {
        match keyword {
            "elif" => {
                if let Some(last) = self.open.last_mut() {
                    *last += 1;
                    self.sum += 1;
                }
            }
            "if" | "for" | "with" | "macro" | "call" | "filter" | "block" | "autoescape" => {
                self.open.push(1);
                self.sum += 1;
            }
            // A `set` with a value opens nothing; of `endset` nothing is left open that counts.
            "endset" => {}
            _ if keyword.starts_with("end") => self.sum -= self.open.pop().unwrap_or(0),
            _ => {}
        }
    }

    fn levels(&self) -> usize {
        self.sum
    }
}

/// One expression: a bracket's inside is an operand of what is around it.
#[derive(Default)]
struct Expression {
    around: Vec<Operands>,
    here: Operands,
}

/// What is known of the levels between two brackets: operands and the operators that take them.
#[derive(Default, Clone, Copy)]
struct Operands {
    /// Of the deepest operand so far.
    deepest: usize,
    /// Operators since the last comma: each may lie around the one before it.
    operators: usize,
    /// Of the deepest part between commas.
    parts: usize,
}

impl Operands {
    fn levels(self) -> usize {
        self.parts.max(self.deepest + self.operators)
    }

    fn next_part(self) -> Operands {
        Operands { parts: self.levels(), ..Operands::default() }
    }
}

impl Expression {
    fn read(&mut self, token: &Token<'_>) {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.around.push(self.here);
                self.here = Operands::default();
            }
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                let inside = self.here.levels();
                let mut outer = self.around.pop().unwrap_or_default();
                outer.deepest = outer.deepest.max(inside + 1);
                // A call or a subscript is also taken of what stands before it.
                outer.operators += 1;
                self.here = outer;
            }
            Token::Comma | Token::Colon | Token::Assign => self.here = self.here.next_part(),
            Token::Ident(word) if !is_operator(word) => {}
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {}
            _ => self.here.operators += 1,
        }
    }

    /// Levels of what was read, the brackets that are still open included.
    fn levels(&self) -> usize {
        self.here.levels() + self.around.iter().map(|outer| outer.operators + 1).sum::<usize>()
    }
}

fn is_operator(word: &str) -> bool {
    matches!(word, "and" | "or" | "not" | "is" | "in" | "if" | "else")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::{
        Renderer, TemplateId, TemplateSource, from_json, parse_condition, parse_template,
    };
    use super::LEVELS;

    /// Texts that nest as often as they are told.
    fn chains(times: usize) -> Vec<String> {
        let repeated =
            |before: &str, link: &str, after: &str| format!("{before}{}{after}", link.repeat(times));
        vec![
            repeated("{{ ", "-", "1 }}"),
            repeated("{{ ", "not ", "1 }}"),
            repeated("{{ 1", " + 1", " }}"),
            repeated("{{ 1", " - 1", " }}"),
            repeated("{{ 1", " + 1 - 1", " }}"),
            repeated("{{ 1", " * 1", " }}"),
            repeated("{{ 2", " ** 1", " }}"),
            repeated("{{ 1", " ~ 1", " }}"),
            repeated("{{ 1", " and 1", " }}"),
            repeated("{{ 1", " or 1", " }}"),
            repeated("{{ 1", " < 2", " }}"),
            repeated("{{ 1", " == 1", " }}"),
            repeated("{{ 1", " in [1]", " }}"),
            repeated("{{ 1", " if 1 else 2", " }}"),
            repeated("{{ 'x'", " | upper", " }}"),
            repeated("{{ 'x'", " is string", " }}"),
            repeated("{{ x", ".x", " }}"),
            repeated("{{ x", "[0]", " }}"),
            repeated("{{ x", "[0:]", " }}"),
            repeated("{{ x", "()", " }}"),
            repeated("{{ ", "(", &format!("1{} }}}}", ")".repeat(times))),
            repeated("{{ ", "[", &format!("1{} }}}}", "]".repeat(times))),
            repeated("{{ ", "{1: ", &format!("1{} }}}}", "}".repeat(times))),
            repeated("{{ ", "x(", &format!("1{} }}}}", ")".repeat(times))),
            repeated("{{ ", "(1 + ", &format!("1{} }}}}", " - 1)".repeat(times))),
            repeated("{% if 1 %}", "{% elif 1 %}", "{% endif %}"),
            repeated("", "{% if 1 %}", &"{% endif %}".repeat(times)),
            repeated("", "{% for x in [1] %}", &"{% endfor %}".repeat(times)),
            repeated("", "{% if 1 %}{% elif 1 %}", &"{% endif %}".repeat(times)),
            repeated("", "{% set x %}", &"{% endset %}".repeat(times)),
        ]
    }

    #[test]
    fn a_chain_of_any_length_is_refused_or_runs_and_never_ends_the_process() {
        for times in [20_000, 3_000, LEVELS + 60] {
            for text in chains(times) {
                let parsed = parse_template(&text, None, &BTreeMap::new());
                let error = parsed.expect_err(&text[..40]);
                let deep = error.message.contains("nests more than") || error.message.contains("recursion");
                assert!(deep, "{times} {}: {}", &text[..40], error.message);
                let condition = text.trim_start_matches("{{").trim_end_matches("}}");
                assert!(parse_condition(condition).is_err(), "{times} {}", &text[..40]);
                // A plan that was never checked (one of another version, say) is refused as well.
                let source = TemplateSource { text: text.as_str().into(), base: None };
                let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
                let rendered = renderer.render(TemplateId(0), from_json(&serde_json::json!({"x": "y"})));
                assert!(rendered.is_err(), "{times} {}", &text[..40]);
            }
        }
    }

    #[test]
    fn what_passes_the_check_also_compiles() {
        for times in [1, 5, 20, 37, 60, 90, 140, 180, LEVELS - 2] {
            for text in chains(times) {
                if parse_template(&text, None, &BTreeMap::new()).is_err() {
                    continue;
                }
                let source = TemplateSource { text: text.as_str().into(), base: None };
                let renderer = Renderer::new(&[source], &[], &BTreeMap::new());
                let rendered = renderer.render(TemplateId(0), from_json(&serde_json::json!({"x": "y"})));
                let refused = rendered.err().filter(|error| error.message.contains("recursion"));
                assert_eq!(refused, None, "{times} {}", &text[..text.len().min(40)]);
            }
        }
    }

    #[test]
    fn what_people_write_is_shallow() {
        let long_list = format!("{{{{ [{}] }}}}", "-1 + 2, ".repeat(3_000));
        let many_tags = "{{ a.b | upper }} {% if a %}x{% elif b %}y{% endif %}".repeat(500);
        let joined = format!("{{{{ 'a'{} }}}}", " ~ 'b'".repeat(LEVELS - 10));
        let sum = format!("{{{{ 1{} }}}}", " + 1".repeat(LEVELS - 10));
        for text in [long_list, many_tags, joined, sum] {
            assert!(super::check(&text, false).is_ok(), "{}", &text[..40]);
            assert_eq!(super::check_rewritten(&text), Ok(()), "{}", &text[..40]);
        }
    }
}
