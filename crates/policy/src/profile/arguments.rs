//! The arguments of one call, told apart by a profile.
//!
//! An option that the profile does not have is an error, and so is an abbreviation of one that it has.

use super::Argument;
use super::table::{Count, Role, Spec, Takes};

/// Arguments that were told apart.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    /// Options with their values, by the name without dashes.
    pub options: Vec<(&'a str, Option<&'a str>)>,
    /// Values of options and operands with their roles.
    pub values: Vec<(Role, Argument<'a>)>,
    /// Values that are attached to an option, so no argument of their own.
    pub attached: Vec<(Role, &'a str)>,
    /// Operands, before and after `--`.
    pub operands: Vec<Argument<'a>>,
    /// The operands after `--` among them.
    pub after: usize,
    /// Whether there was `--`.
    pub has_separator: bool,
}

impl Arguments<'_> {
    /// Whether one of these options was given.
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }
}

/// How a program reads its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As GNU programs do: options may follow operands.
    Permuted,
    /// The first operand ends the options.
    OperandsLast,
    /// As go does: the first operand ends the options, and one dash is as good as two.
    OneDash,
}

/// Tells arguments apart.
pub fn tell_apart<'a>(
    spec: &'static Spec,
    words: &[Argument<'a>],
    style: Style,
) -> Result<Arguments<'a>, String> {
    let mut found = Arguments::default();
    let mut gives_first = false;
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        at += 1;
        let text = word.text;
        if text == "--" {
            found.has_separator = true;
            found.after = words.len() - at;
            found.operands.extend(&words[at..]);
            break;
        }
        if !text.starts_with('-') || text == "-" {
            found.operands.push(word);
            if style != Style::Permuted {
                found.operands.extend(&words[at..]);
                break;
            }
            continue;
        }
        if word.is_pattern {
            let name = text.split_once('=').and_then(|(name, _)| long_name(name, style));
            let known = name.and_then(|name| spec.long.get(name));
            let harmless =
                known.is_some_and(|opt| matches!(opt.takes, Takes::Value(Role::Pattern | Role::Text)));
            if !harmless {
                return Err(format!("`{text}` is an option that holds a pattern; put it in single quotes"));
            }
        }
        match long_name(text, style) {
            Some(long) => at += long_option(spec, long, words, at, &mut found, &mut gives_first)?,
            None => at += short_options(spec, text, words, at, &mut found, &mut gives_first)?,
        }
    }
    assign_roles(spec, &mut found, gives_first)?;
    Ok(found)
}

/// What follows the dashes of a long option.
fn long_name(text: &str, style: Style) -> Option<&str> {
    let one_dash = || text.strip_prefix('-').filter(|_| style == Style::OneDash);
    text.strip_prefix("--").or_else(one_dash)
}

/// Reads a long option; says how many more arguments it took.
fn long_option<'a>(
    spec: &'static Spec,
    long: &'a str,
    words: &[Argument<'a>],
    at: usize,
    found: &mut Arguments<'a>,
    gives_first: &mut bool,
) -> Result<usize, String> {
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let Some((name, opt)) = spec.long.get_key_value(name) else {
        return Err(unknown(&format!("--{name}"), spec));
    };
    *gives_first |= opt.gives_first;
    let mut took = 0;
    let value = match (opt.takes, value) {
        (Takes::Nothing, Some(_)) => return Err(format!("`--{name}` takes no value")),
        (Takes::Nothing, None) | (Takes::Attached(_), None) => None,
        (Takes::Value(role) | Takes::Attached(role), Some(value)) => {
            found.attached.push((role, value));
            Some(value)
        }
        (Takes::Value(role), None) => {
            let next = words.get(at).ok_or_else(|| format!("`--{name}` has no value"))?;
            took = 1;
            found.values.push((role, *next));
            Some(next.text)
        }
    };
    found.options.push((name, value));
    Ok(took)
}

fn short_options<'a>(
    spec: &'static Spec,
    text: &'a str,
    words: &[Argument<'a>],
    at: usize,
    found: &mut Arguments<'a>,
    gives_first: &mut bool,
) -> Result<usize, String> {
    let letters = &text[1..];
    if spec.digits && letters.bytes().all(|byte| byte.is_ascii_digit()) {
        found.options.push(("#", Some(letters)));
        return Ok(0);
    }
    for (place, letter) in letters.char_indices() {
        let Some(opt) = spec.short.get(&letter) else {
            let whole = if letters.chars().count() > 1 { format!(" in `{text}`") } else { String::new() };
            return Err(format!("{}{whole}", unknown(&format!("-{letter}"), spec)));
        };
        *gives_first |= opt.gives_first;
        let rest = &letters[place + letter.len_utf8()..];
        let name = &letters[place..place + letter.len_utf8()];
        match opt.takes {
            Takes::Nothing => found.options.push((name, None)),
            Takes::Attached(_) if rest.is_empty() => found.options.push((name, None)),
            Takes::Value(role) | Takes::Attached(role) if !rest.is_empty() => {
                found.attached.push((role, rest));
                found.options.push((name, Some(rest)));
                return Ok(0);
            }
            Takes::Value(role) | Takes::Attached(role) => {
                let next = words.get(at).ok_or_else(|| format!("`-{letter}` has no value"))?;
                found.values.push((role, *next));
                found.options.push((name, Some(next.text)));
                return Ok(1);
            }
        }
    }
    Ok(0)
}

fn unknown(option: &str, spec: &Spec) -> String {
    let long = spec.long.keys().copied();
    match convoke_model::nearest(option.trim_start_matches('-'), long) {
        Some(near) if option.starts_with("--") => {
            format!(
                "`{option}` is not among the options that are known to be harmless (did you mean `--{near}`?)"
            )
        }
        _ => format!("`{option}` is not among the options that are known to be harmless"),
    }
}

fn assign_roles(spec: &Spec, found: &mut Arguments<'_>, gives_first: bool) -> Result<(), String> {
    let split = found.operands.len() - found.after;
    let (before, after) = found.operands.split_at(split);
    let skip = usize::from(gives_first && !spec.operands.is_empty());
    let roles = &spec.operands[skip..];
    let mut values = Vec::new();
    match &spec.after {
        Some(later) => {
            fit(roles, before, &mut values)?;
            fit(later, after, &mut values)?;
        }
        None => fit(roles, &found.operands, &mut values)?,
    }
    found.values.extend(values);
    Ok(())
}

fn fit<'a>(
    roles: &[(Role, Count)],
    operands: &[Argument<'a>],
    values: &mut Vec<(Role, Argument<'a>)>,
) -> Result<(), String> {
    let mut left = operands;
    for (role, count) in roles {
        match (count, left) {
            (Count::Many, _) => {
                values.extend(left.iter().map(|operand| (*role, *operand)));
                left = &[];
            }
            (Count::One | Count::Maybe, [first, rest @ ..]) => {
                values.push((*role, *first));
                left = rest;
            }
            (Count::One | Count::Maybe, []) => {}
        }
    }
    match left {
        [] => Ok(()),
        [first, ..] => Err(format!("`{}` is an operand more than the program is known to take", first.text)),
    }
}
