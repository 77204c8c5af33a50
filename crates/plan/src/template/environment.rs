//! Builds the environment that every template of a plan is compiled in.
//!
//! Everything is registered once, here; rendering registers nothing.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior};

use super::cancellation::{self, Cancellation};
use super::limits::{Cost, DEPTH, FUEL, charge, charge_call};
use super::python::{python_text, write_text};
use super::{condition, filters, globals, methods, operators, predicates};

/// Jinja2's syntax as Conductor sets it: the last newline stays, blocks are not trimmed.
pub(super) fn syntax() -> SyntaxConfig {
    static SYNTAX: LazyLock<SyntaxConfig> = LazyLock::new(|| {
        SyntaxConfig::builder()
            .keep_trailing_newline(true)
            .build()
            .expect("the delimiters are the usual ones")
    });
    SYNTAX.clone()
}

/// An environment with our filters, tests, functions and methods, strict about undefined values.
pub(super) fn environment(cancellation: &Cancellation) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(emit);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(DEPTH);
    // Debug is what makes an error know the expression that was undefined, and where.
    environment.set_debug(true);
    environment.set_unknown_method_callback(methods::call);
    environment.add_global(cancellation::GLOBAL, cancellation.value());
    environment.add_function("namespace", minijinja::functions::namespace);
    operators::register(&mut environment);
    filters::register(&mut environment);
    predicates::register(&mut environment);
    globals::register(&mut environment);
    condition::register(&mut environment);
    environment
}

/// Writes a value into the output as Python writes it.
fn emit(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    charge_call(state, Cost::Whole, std::slice::from_ref(value))?;
    if !matches!(state.auto_escape(), AutoEscape::None) && !value.is_safe() {
        let escaped = filters::escape_text(&python_text(value));
        charge(state, escaped.len())?;
        return out.write_str(&escaped).map_err(Error::from);
    }
    if let Some(text) = value.as_str() {
        charge(state, text.len())?;
        return out.write_str(text).map_err(Error::from);
    }
    let mut text = String::new();
    write_text(&mut text, value);
    charge(state, text.len())?;
    out.write_str(&text).map_err(Error::from)
}
