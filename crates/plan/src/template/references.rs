//! Walks a parsed template and finds what it refers to: names of the context, filters, tests, functions, other files.
//!
//! Names that the template binds itself (`for`, `set`, `macro`, `with`, `import`) are not references. Whether a name is
//! any good is for others to judge.

use std::ops::Range;

use minijinja::machinery::Span;
use minijinja::machinery::ast::{self, BinOpKind, CallArg, Expr, Stmt};

use super::guards::{Outcome, assured};

/// A name of the context that a template or a condition reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `["writer", "output", "text"]` for `writer.output.text`; ends before the first dynamic subscript or call.
    pub path: Vec<String>,
    /// Where, in bytes of the text.
    pub range: Range<usize>,
    /// Whether the text copes with its absence (`is defined`, `default`, a branch that made sure).
    pub guarded: bool,
}

/// What an include, import or extends names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inclusion {
    /// The names as written, in the order they are tried; empty if they are computed.
    pub names: Vec<String>,
    pub range: Range<usize>,
    pub optional: bool,
}

/// A name of a filter, a test or a function, and where it stands.
pub(super) type Use = (String, Range<usize>);

/// Everything a template mentions.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub references: Vec<Reference>,
    pub filters: Vec<Use>,
    pub tests: Vec<Use>,
    pub functions: Vec<Use>,
    pub inclusions: Vec<Inclusion>,
}

/// What a whole template mentions.
pub(super) fn of_template(template: &Stmt<'_>) -> Mentions {
    let mut walk = Walk::default();
    walk.scoped(|walk| walk.statement(template));
    walk.mentions
}

/// What an expression mentions.
pub(super) fn of_expression(expr: &Expr<'_>) -> Mentions {
    let mut walk = Walk::default();
    walk.scoped(|walk| walk.expression(expr));
    walk.mentions
}

fn range(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

#[derive(Default)]
struct Walk {
    mentions: Mentions,
    scopes: Vec<Vec<String>>,
    assured: Vec<String>,
    /// Inside `is defined` or `default`.
    forgiving: bool,
}

impl Walk {
    fn scoped(&mut self, body: impl FnOnce(&mut Walk)) {
        self.scopes.push(Vec::new());
        body(self);
        self.scopes.pop();
    }

    /// Walks with more names made sure of.
    fn assuming(&mut self, names: Vec<String>, body: impl FnOnce(&mut Walk)) {
        let before = self.assured.len();
        self.assured.extend(names);
        body(self);
        self.assured.truncate(before);
    }

    fn bind(&mut self, name: &str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name.to_owned());
        }
    }

    fn is_bound(&self, name: &str) -> bool {
        self.scopes.iter().flatten().any(|bound| bound == name)
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::EmitRaw(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(branch) => self.branch(branch),
            Stmt::WithBlock(with) => self.with(with),
            Stmt::Set(set) => self.set(set),
            Stmt::SetBlock(set) => self.set_block(set),
            Stmt::AutoEscape(escape) => {
                self.expression(&escape.enabled);
                self.scoped(|walk| walk.statements(&escape.body));
            }
            Stmt::FilterBlock(filter) => {
                self.expression(&filter.filter);
                self.scoped(|walk| walk.statements(&filter.body));
            }
            Stmt::Block(block) => self.scoped(|walk| walk.statements(&block.body)),
            Stmt::Import(import) => {
                self.inclusion(&import.expr, range(import.span()), false);
                self.target(&import.name);
            }
            Stmt::FromImport(import) => self.names_imported(import, range(import.span())),
            Stmt::Extends(extends) => self.inclusion(&extends.name, range(extends.span()), false),
            Stmt::Include(include) => {
                self.inclusion(&include.name, range(include.span()), include.ignore_missing)
            }
            Stmt::Macro(definition) => self.definition(definition),
            Stmt::CallBlock(block) => {
                self.call(&block.call);
                self.definition(&block.macro_decl);
            }
            Stmt::Do(call) => self.call(&call.call),
        }
    }

    fn for_loop(&mut self, each: &ast::ForLoop<'_>) {
        self.expression(&each.iter);
        self.scoped(|walk| {
            walk.bind("loop");
            walk.target(&each.target);
            let mut names = Vec::new();
            if let Some(filter) = &each.filter_expr {
                walk.expression(filter);
                names = assured(filter, Outcome::True);
            }
            walk.assuming(names, |walk| walk.statements(&each.body));
        });
        self.scoped(|walk| walk.statements(&each.else_body));
    }

    fn branch(&mut self, branch: &ast::IfCond<'_>) {
        self.expression(&branch.expr);
        self.assuming(assured(&branch.expr, Outcome::True), |walk| walk.statements(&branch.true_body));
        self.assuming(assured(&branch.expr, Outcome::False), |walk| walk.statements(&branch.false_body));
    }

    fn with(&mut self, with: &ast::WithBlock<'_>) {
        for (_, value) in &with.assignments {
            self.expression(value);
        }
        self.scoped(|walk| {
            for (target, _) in &with.assignments {
                walk.target(target);
            }
            walk.statements(&with.body);
        });
    }

    fn set(&mut self, set: &ast::Set<'_>) {
        self.expression(&set.expr);
        self.target(&set.target);
    }

    fn set_block(&mut self, set: &ast::SetBlock<'_>) {
        self.scoped(|walk| walk.statements(&set.body));
        if let Some(filter) = &set.filter {
            self.expression(filter);
        }
        self.target(&set.target);
    }

    fn names_imported(&mut self, import: &ast::FromImport<'_>, range: Range<usize>) {
        self.inclusion(&import.expr, range, false);
        for (name, alias) in &import.names {
            self.target(alias.as_ref().unwrap_or(name));
        }
    }

    fn definition(&mut self, definition: &ast::Macro<'_>) {
        self.bind(definition.name);
        for default in &definition.defaults {
            self.expression(default);
        }
        self.scoped(|walk| {
            for name in ["caller", "varargs", "kwargs"] {
                walk.bind(name);
            }
            for argument in &definition.args {
                walk.target(argument);
            }
            walk.statements(&definition.body);
        });
    }

    /// Binds the names of an assignment's left side.
    fn target(&mut self, target: &Expr<'_>) {
        match target {
            Expr::Var(var) => self.bind(var.id),
            Expr::List(list) => list.items.iter().for_each(|item| self.target(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.target(item)),
            Expr::GetAttr(attribute) => self.expression(&attribute.expr),
            other => self.expression(other),
        }
    }

    fn inclusion(&mut self, name: &Expr<'_>, range: Range<usize>, optional: bool) {
        let names = match name {
            Expr::Const(constant) => constant.value.as_str().map(|name| vec![name.to_owned()]),
            Expr::List(list) => constants(&list.items),
            Expr::Tuple(tuple) => constants(&tuple.items),
            _ => None,
        };
        let names = names.unwrap_or_default();
        self.mentions.inclusions.push(Inclusion { names, range, optional });
    }

    fn expression(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::Const(_) => {}
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.chain(expr),
            Expr::Slice(slice) => {
                self.expression(&slice.expr);
                [&slice.start, &slice.stop, &slice.step]
                    .into_iter()
                    .flatten()
                    .for_each(|part| self.expression(part));
            }
            Expr::UnaryOp(unary) => self.expression(&unary.expr),
            Expr::BinOp(binary) => self.binary(binary),
            Expr::Compare(compare) => {
                self.expression(&compare.expr);
                compare.ops.iter().for_each(|link| self.expression(&link.expr));
            }
            Expr::IfExpr(choice) => self.choice(choice),
            Expr::Filter(filter) => self.filter(filter, range(filter.span())),
            Expr::Test(test) => self.test(test, range(test.span())),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => list.items.iter().for_each(|item| self.expression(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.expression(item)),
            Expr::Map(map) => map.keys.iter().chain(&map.values).for_each(|item| self.expression(item)),
        }
    }

    fn binary(&mut self, binary: &ast::BinOp<'_>) {
        self.expression(&binary.left);
        let names = match binary.op {
            BinOpKind::ScAnd => assured(&binary.left, Outcome::True),
            BinOpKind::ScOr => assured(&binary.left, Outcome::False),
            _ => Vec::new(),
        };
        self.assuming(names, |walk| walk.expression(&binary.right));
    }

    fn choice(&mut self, choice: &ast::IfExpr<'_>) {
        self.expression(&choice.test_expr);
        self.assuming(assured(&choice.test_expr, Outcome::True), |walk| walk.expression(&choice.true_expr));
        if let Some(otherwise) = &choice.false_expr {
            self.assuming(assured(&choice.test_expr, Outcome::False), |walk| walk.expression(otherwise));
        }
    }

    fn forgiving(&mut self, forgives: bool, body: impl FnOnce(&mut Walk)) {
        let before = self.forgiving;
        self.forgiving |= forgives;
        body(self);
        self.forgiving = before;
    }

    fn filter(&mut self, filter: &ast::Filter<'_>, range: Range<usize>) {
        self.mentions.filters.push((filter.name.to_owned(), range.clone()));
        self.named_by_argument(filter, range);
        if let Some(inner) = &filter.expr {
            self.forgiving(matches!(filter.name, "default" | "d"), |walk| walk.expression(inner));
        }
        self.arguments(&filter.args);
    }

    /// `map('upper')` and `selectattr('x', 'odd')` name a filter or a test in an argument.
    fn named_by_argument(&mut self, filter: &ast::Filter<'_>, range: Range<usize>) {
        let constant = |at: usize| match filter.args.get(at) {
            Some(CallArg::Pos(Expr::Const(constant))) => constant.value.as_str().map(str::to_owned),
            _ => None,
        };
        match filter.name {
            "map" => self.mentions.filters.extend(constant(0).map(|name| (name, range))),
            "select" | "reject" => self.mentions.tests.extend(constant(0).map(|name| (name, range))),
            "selectattr" | "rejectattr" => self.mentions.tests.extend(constant(1).map(|name| (name, range))),
            _ => {}
        }
    }

    fn test(&mut self, test: &ast::Test<'_>, range: Range<usize>) {
        self.mentions.tests.push((test.name.to_owned(), range));
        self.forgiving(matches!(test.name, "defined" | "undefined"), |walk| walk.expression(&test.expr));
        self.arguments(&test.args);
    }

    fn call(&mut self, call: &ast::Call<'_>) {
        match &call.expr {
            Expr::Var(var) if self.is_bound(var.id) => {}
            Expr::Var(var) => self.mentions.functions.push((var.id.to_owned(), range(var.span()))),
            Expr::GetAttr(method) if matches!(&method.expr, Expr::Var(var) if var.id == "self") => {}
            Expr::GetAttr(method) => self.expression(&method.expr),
            other => self.expression(other),
        }
        self.arguments(&call.args);
    }

    fn arguments(&mut self, args: &[CallArg<'_>]) {
        for arg in args {
            match arg {
                CallArg::Pos(expr)
                | CallArg::Kwarg(_, expr)
                | CallArg::PosSplat(expr)
                | CallArg::KwargSplat(expr) => {
                    self.expression(expr);
                }
            }
        }
    }

    /// A name with attributes and constant keys behind it; whatever interrupts the chain is walked on its own.
    fn chain(&mut self, expr: &Expr<'_>) {
        let mut links: Vec<&Expr<'_>> = vec![expr];
        while let Some(inner) = inner(links[links.len() - 1]) {
            links.push(inner);
        }
        for link in &links {
            if let Expr::GetItem(item) = link {
                self.expression(&item.subscript_expr);
            }
        }
        let Some((Expr::Var(var), rest)) = links.split_last().map(|(first, rest)| (*first, rest)) else {
            if let Some(base) = links.last().filter(|_| links.len() > 1) {
                self.expression(base);
            }
            return;
        };
        if self.is_bound(var.id) || var.id == "self" {
            return;
        }
        let mut path = vec![var.id.to_owned()];
        let mut place = range(var.span());
        for link in rest.iter().rev() {
            let Some(name) = key(link) else { break };
            path.push(name);
            place.end = place.end.max(link.span().end_offset as usize);
        }
        let guarded = self.forgiving || self.assured.contains(&path[0]);
        self.mentions.references.push(Reference { path, range: place, guarded });
    }
}

/// What an attribute or a subscript is taken of.
fn inner<'e, 'a>(expr: &'e Expr<'a>) -> Option<&'e Expr<'a>> {
    match expr {
        Expr::GetAttr(attribute) => Some(&attribute.expr),
        Expr::GetItem(item) => Some(&item.expr),
        _ => None,
    }
}

/// The name that an attribute or a constant subscript adds.
fn key(expr: &Expr<'_>) -> Option<String> {
    match expr {
        Expr::GetAttr(attribute) => Some(attribute.name.to_owned()),
        Expr::GetItem(item) => match &item.subscript_expr {
            Expr::Const(constant) => constant.value.as_str().map(str::to_owned),
            _ => None,
        },
        _ => None,
    }
}

fn constants(items: &[Expr<'_>]) -> Option<Vec<String>> {
    let name = |item: &Expr<'_>| match item {
        Expr::Const(constant) => constant.value.as_str().map(str::to_owned),
        _ => None,
    };
    items.iter().map(name).collect()
}
