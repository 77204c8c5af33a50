//! Finds the habits in a program's syntax.

use super::imports::{self, UNTOLD};
use super::rewrite::Edits;
use super::{Finding, replacements};
use crate::guide::MODULES;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{
    Alias, Expr, ExprAttribute, ExprBinOp, ExprCall, ModModule, Operator, Stmt, StmtClassDef, StmtDelete,
    StmtFunctionDef, StmtImport, StmtImportFrom,
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use std::collections::{BTreeMap, BTreeSet};

/// What was seen of a program.
pub struct Habits<'a> {
    text: &'a str,
    functions: &'a [String],
    edits: Edits,
    helpers: BTreeSet<&'static str>,
    findings: Vec<Finding>,
    /// Modules by the names that the program gives them.
    modules: BTreeMap<String, String>,
    /// Functions and classes that the program defines.
    defined: BTreeSet<String>,
    /// How many `try` statements are around.
    tries: u32,
    /// Statements that are nothing but a `yield`.
    plain_yields: BTreeSet<TextSize>,
    is_method: bool,
}

impl<'a> Habits<'a> {
    pub fn new(text: &'a str, functions: &'a [String]) -> Habits<'a> {
        let modules = imports::EXTRAS.iter().map(|it| (it.module.to_owned(), it.module.to_owned())).collect();
        Habits {
            text,
            functions,
            edits: Edits::default(),
            helpers: BTreeSet::new(),
            findings: Vec::new(),
            modules,
            defined: BTreeSet::new(),
            tries: 0,
            plain_yields: BTreeSet::new(),
            is_method: false,
        }
    }

    pub fn look_over(&mut self, module: &'a ModModule) {
        let mut names = Names::default();
        module.body.iter().for_each(|stmt| names.visit_stmt(stmt));
        self.modules.extend(names.modules);
        names.assigned.iter().for_each(|name| drop(self.modules.remove(name)));
        self.defined = names.defined;
        module.body.iter().for_each(|stmt| self.visit_stmt(stmt));
    }

    pub fn seen(self) -> (Edits, BTreeSet<&'static str>, Vec<Finding>) {
        (self.edits, self.helpers, self.findings)
    }

    fn find(&mut self, at: impl Ranged, what: impl Into<String>, instead: impl Into<String>) {
        let before = &self.text[..usize::from(at.range().start())];
        let line = before.matches('\n').count() as u32 + 1;
        self.findings.push(Finding { line, what: what.into(), instead: instead.into() });
    }

    fn function(&mut self, it: &'a StmtFunctionDef) {
        let mut yields = Yields::default();
        it.body.iter().for_each(|stmt| yields.visit_stmt(stmt));
        if self.is_method
            && let Some(decorator) = it.decorator_list.first()
        {
            let what = format!("a decorator of a method (`{}`)", &self.text[decorator.expression.range()]);
            self.find(
                decorator,
                what,
                "write a plain method and call it, or a function outside of the class",
            );
        }
        if yields.yields {
            self.generator(it, yields.is_endless);
        }
    }

    fn generator(&mut self, it: &StmtFunctionDef, is_endless: bool) {
        let line_start = |at: TextSize| self.text[..usize::from(at)].rfind('\n').map_or(0, |at| at + 1);
        let def = it.decorator_list.last().map_or(it.start(), |last| {
            let rest = &self.text[usize::from(last.end())..];
            let newline = rest.find('\n').map_or(0, |at| at + 1);
            let spaces = rest[newline..].len() - rest[newline..].trim_start().len();
            last.end() + TextSize::try_from(newline + spaces).unwrap_or_default()
        });
        let indent = &self.text[line_start(def)..usize::from(def)];
        if is_endless {
            let instead = "generators are computed at once, so they must end: give it a `break` or a `for` over a range";
            return self.find(it, "a generator without an end", instead);
        }
        if self.is_method || it.is_async || !indent.trim().is_empty() {
            let instead = "collect into a list, `out.append(value)`, and `return out`";
            return self.find(it, "`yield` in a method", instead);
        }
        self.helpers.insert("generator");
        self.edits.insert(def, format!("@__generator\n{indent}"));
    }

    fn class(&mut self, it: &StmtClassDef) {
        let Some(arguments) = &it.arguments else { return };
        match (&*arguments.args, arguments.keywords.is_empty()) {
            ([], true) => {}
            ([Expr::Name(base)], true) if base.id == "object" => self.edits.replace(arguments.range, ""),
            ([Expr::Name(base)], true) if base.id.ends_with("Error") || base.id == "Exception" => {
                let what = format!("an exception of your own (`{}`)", it.name);
                self.find(it, what, "raise `ValueError('…')` and catch that");
            }
            _ => {
                let what = format!("class inheritance (`{}`)", it.name);
                self.find(it, what, "write a class without bases, or use functions and dicts");
            }
        }
    }

    fn delete(&mut self, it: &StmtDelete) {
        let del = TextRange::new(it.start(), it.start() + TextSize::new(4));
        match &*it.targets {
            [Expr::Name(name)] => self.edits.replace(it.range, format!("{} = None", name.id)),
            [Expr::Subscript(item)] if !item.slice.is_slice_expr() => {
                let between = TextRange::new(item.value.end(), item.slice.start());
                let (Some(open), false) = (self.text[between].find('['), self.text[between].contains('#'))
                else {
                    return self.find(it, "`del`", "use `items.pop(key)`");
                };
                let open = between.start() + TextSize::try_from(open).unwrap_or_default();
                let close = TextRange::new(item.end() - TextSize::new(1), item.end());
                self.edits.replace(del, "");
                self.edits.replace(TextRange::at(open, TextSize::new(1)), ".pop(");
                self.edits.replace(close, ")");
            }
            _ => self.find(
                it,
                "`del` of a slice, an attribute or several targets",
                "use `items.pop(key)` for each",
            ),
        }
    }

    fn import(&mut self, it: &StmtImport) {
        let mut parts = Vec::new();
        let mut is_changed = false;
        for Alias { name, asname, .. } in &it.names {
            let bound = asname.as_ref().unwrap_or(name);
            match imports::extra(name).filter(|extra| extra.is_whole) {
                Some(extra) => {
                    self.helpers.insert(extra.module);
                    is_changed = true;
                    parts.push(format!("{bound} = __{name}"));
                }
                None => {
                    self.check_module(it.range, name);
                    let renamed = asname.as_ref().map(|it| format!(" as {it}")).unwrap_or_default();
                    parts.push(format!("import {name}{renamed}"));
                }
            }
        }
        if is_changed && !self.text[it.range].contains('\n') {
            self.edits.replace(it.range, parts.join("; "));
        }
    }

    fn import_from(&mut self, it: &StmtImportFrom) {
        let Some(module) = it.module.as_ref().filter(|_| it.level == 0) else {
            return self.find(it, "a relative import", "there is one program and no files");
        };
        if it.names.iter().any(|alias| &alias.name == "*") {
            return self.find(it, "`import *`", format!("import by name: `from {module} import a, b`"));
        }
        let Some(extra) = imports::extra(module) else { return self.check_module(it.range, module) };
        let has = |alias: &&Alias| extra.is_whole || extra.has(&alias.name);
        let (ours, theirs): (Vec<&Alias>, Vec<&Alias>) = it.names.iter().partition(has);
        if ours.is_empty() {
            return;
        }
        if let Some(alias) = ours.iter().find(|alias| !extra.has(&alias.name)) {
            let instead = format!("`{module}` has here: {}", extra.names.join(", "));
            return self.find(it, format!("`{module}.{}`", alias.name), instead);
        }
        self.helpers.insert(extra.module);
        // Lines stay as they are: those of the statement go into the first pair of parentheses.
        let mut lines = "\n".repeat(self.text[it.range].matches('\n').count());
        let renamed = |alias: &&Alias| &self.text[alias.range];
        let mut parts: Vec<String> = ours
            .iter()
            .map(|alias| {
                let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                format!("{bound} = ({}__{module}.{})", std::mem::take(&mut lines), alias.name)
            })
            .collect();
        if !theirs.is_empty() {
            let names: Vec<&str> = theirs.iter().map(renamed).collect();
            parts.push(format!("from {module} import {}", names.join(", ")));
        }
        self.edits.replace(it.range, parts.join("; "));
    }

    /// A program that expects the import to fail is left alone.
    fn check_module(&mut self, at: TextRange, name: &str) {
        if self.tries == 0 && !MODULES.contains(&name) && !UNTOLD.contains(&name) {
            self.find(at, format!("`import {name}`"), replacements::module(name));
        }
    }

    fn attribute(&mut self, it: &ExprAttribute) {
        let name = it.attr.as_str();
        match &*it.value {
            Expr::Name(base) if base.id == "str" && name != "maketrans" && !self.defined.contains("str") => {
                let lambda = format!("(lambda __text, *__more: __text.{name}(*__more))");
                self.edits.replace(it.range, lambda);
            }
            Expr::Name(base) if base.id == "os" && name == "path" => {
                self.find(
                    it,
                    "`os.path`",
                    "there are no files: use `'/'.join(parts)` and `text.rsplit('/', 1)`",
                );
            }
            Expr::Name(base) => {
                let module = self.modules.get(base.id.as_str()).and_then(|module| imports::extra(module));
                let Some(extra) = module else { return };
                if extra.has(name) {
                    self.helpers.insert(extra.module);
                    self.edits.replace(base.range, format!("__{}", extra.module));
                }
            }
            _ => {}
        }
    }

    fn is_chain(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Name(name) => name.id == "chain",
            Expr::Attribute(it) => &it.attr == "chain" && it.value.is_name_expr(),
            _ => false,
        }
    }

    fn call(&mut self, it: &'a ExprCall) {
        let Expr::Name(name) = &*it.func else { return };
        if self.defined.contains(name.id.as_str()) || self.functions.iter().any(|it| it == name.id.as_str()) {
            return;
        }
        match name.id.as_str() {
            "map" if it.arguments.args.first().is_some_and(|first| self.may_call_host(first)) => {
                self.helpers.insert("map");
                self.edits.replace(name.range, "__map");
            }
            builtin @ ("format" | "callable") => {
                self.helpers.insert("builtins");
                self.edits.replace(name.range, format!("__{builtin}"));
            }
            builtin => {
                if let Some(instead) = replacements::builtin(builtin) {
                    self.find(it, format!("`{builtin}()`"), instead);
                }
            }
        }
        // The only argument needs no parentheses, and then is no generator that is kept; but `next` wants one.
        if name.id == "next"
            && let Some(Expr::Generator(argument)) = it.arguments.args.first()
            && !argument.parenthesized
        {
            self.edits.wrap(argument.range, "iter(", ")");
        }
    }

    fn may_call_host(&self, function: &Expr) -> bool {
        match function {
            Expr::Name(name) => {
                self.functions.iter().any(|it| it == name.id.as_str())
                    || self.defined.contains(name.id.as_str())
            }
            other => other.is_lambda_expr(),
        }
    }

    /// `%`, where the left side may be text.
    fn modulo(&mut self, it: &ExprBinOp) {
        if it.left.is_number_literal_expr() || (!is_text(&it.left) && it.right.is_number_literal_expr()) {
            return;
        }
        let between = TextRange::new(it.left.end(), it.right.start());
        let (Some(sign), false) = (self.text[between].find('%'), self.text[between].contains('#')) else {
            return;
        };
        let sign = between.start() + TextSize::try_from(sign).unwrap_or_default();
        self.helpers.insert("mod");
        self.edits.wrap(it.range, "__mod(", ")");
        self.edits.replace(TextRange::at(sign, TextSize::new(1)), ",");
    }
}

fn is_text(expr: &Expr) -> bool {
    expr.is_string_literal_expr() || expr.is_f_string_expr()
}

impl<'a> Visitor<'a> for Habits<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let (tries, is_method) = (self.tries, self.is_method);
        match stmt {
            Stmt::FunctionDef(it) => {
                self.function(it);
                self.is_method = false;
            }
            Stmt::ClassDef(it) => {
                self.class(it);
                self.is_method = true;
            }
            Stmt::Delete(it) => return self.delete(it),
            Stmt::Import(it) => self.import(it),
            Stmt::ImportFrom(it) => self.import_from(it),
            Stmt::Match(it) => self.find(it, "`match`", "use `if`/`elif` with `==` and `isinstance`"),
            Stmt::TypeAlias(it) => self.find(it, "`type`", "leave it out"),
            Stmt::Try(it) if it.is_star => self.find(it, "`except*`", "use `except`"),
            Stmt::Try(_) => self.tries += 1,
            Stmt::Assign(it) => {
                for target in &it.targets {
                    if target.as_subscript_expr().is_some_and(|it| it.slice.is_slice_expr()) {
                        self.find(target, "assignment to a slice", "write `x = x[:i] + new + x[j:]`");
                    }
                }
            }
            Stmt::Expr(it) if it.value.is_yield_expr() || it.value.is_yield_from_expr() => {
                self.plain_yields.insert(it.value.start());
            }
            _ => {}
        }
        walk_stmt(self, stmt);
        (self.tries, self.is_method) = (tries, is_method);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(it) if it.op == Operator::Mod => self.modulo(it),
            Expr::Generator(it) if it.parenthesized => self.edits.wrap(it.range, "iter(", ")"),
            Expr::Attribute(it) if &it.attr == "from_iterable" && self.is_chain(&it.value) => {
                self.helpers.insert("itertools");
                return self.edits.replace(it.range, "__itertools.chain_from_iterable");
            }
            Expr::Attribute(it) => self.attribute(it),
            Expr::Call(it) => self.call(it),
            Expr::Yield(_) | Expr::YieldFrom(_) if !self.plain_yields.contains(&expr.start()) => {
                self.find(expr, "the value of `yield`", "generators here only give values: use a function");
            }
            Expr::Yield(it) => {
                let word = TextRange::at(it.start(), TextSize::new(5));
                let value = if it.value.is_some() { "__yield(" } else { "__yield(None" };
                self.edits.replace(word, value);
                self.edits.insert(it.end(), ")");
            }
            Expr::YieldFrom(it) => {
                self.edits.replace(TextRange::new(it.start(), it.value.start()), "__yield_from(");
                self.edits.insert(it.end(), ")");
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// The names that a program gives to modules and functions.
#[derive(Default)]
struct Names {
    modules: BTreeMap<String, String>,
    defined: BTreeSet<String>,
    assigned: BTreeSet<String>,
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(it) => drop(self.defined.insert(it.name.to_string())),
            Stmt::ClassDef(it) => drop(self.defined.insert(it.name.to_string())),
            Stmt::Import(it) => {
                let bound = |alias: &Alias| {
                    (alias.asname.as_ref().unwrap_or(&alias.name).to_string(), alias.name.to_string())
                };
                self.modules.extend(it.names.iter().map(bound));
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_store()
        {
            self.assigned.insert(name.id.to_string());
            self.defined.insert(name.id.to_string());
        }
        walk_expr(self, expr);
    }
}

/// Whether a function's own statements yield, and whether a loop of them never ends.
#[derive(Default)]
struct Yields {
    yields: bool,
    is_endless: bool,
    /// Whether a statement leaves a loop.
    leaves: bool,
}

impl<'a> Visitor<'a> for Yields {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::Break(_) | Stmt::Return(_) | Stmt::Raise(_) => self.leaves = true,
            Stmt::While(it) if is_true(&it.test) => {
                let mut inner = Yields::default();
                it.body.iter().for_each(|stmt| inner.visit_stmt(stmt));
                self.yields |= inner.yields;
                self.is_endless |= inner.is_endless || (inner.yields && !inner.leaves);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.yields |= expr.is_yield_expr() || expr.is_yield_from_expr();
        if !expr.is_lambda_expr() {
            walk_expr(self, expr);
        }
    }
}

fn is_true(test: &Expr) -> bool {
    test.as_boolean_literal_expr().is_some_and(|it| it.value) || test.is_number_literal_expr()
}
