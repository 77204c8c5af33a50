//! Which names an expression has made sure of, when it came out true or false.
//!
//! `x is defined and x.y` reads `x.y` only if `x` is there: a search for references needs to know.

use minijinja::machinery::ast::{BinOpKind, Expr, UnaryOpKind};

/// Whether an expression came out true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum Outcome {
    True,
    False,
}

impl Outcome {
    fn other(self) -> Outcome {
        match self {
            Outcome::True => Outcome::False,
            Outcome::False => Outcome::True,
        }
    }
}

/// The first names of what is known to be defined once `expr` came out as `outcome`.
pub(in crate::template) fn assured(expr: &Expr<'_>, outcome: Outcome) -> Vec<String> {
    match expr {
        Expr::Test(test) if test.name == "defined" => when(outcome == Outcome::True, root(&test.expr)),
        Expr::Test(test) if test.name == "undefined" => when(outcome == Outcome::False, root(&test.expr)),
        Expr::UnaryOp(unary) if matches!(unary.op, UnaryOpKind::Not) => assured(&unary.expr, outcome.other()),
        Expr::BinOp(binary) => match (binary.op, outcome) {
            (BinOpKind::ScAnd, Outcome::True) | (BinOpKind::ScOr, Outcome::False) => {
                let mut names = assured(&binary.left, outcome);
                names.extend(assured(&binary.right, outcome));
                names
            }
            (BinOpKind::ScAnd | BinOpKind::ScOr, _) => Vec::new(),
            (BinOpKind::In, Outcome::True) => history_entry(&binary.left, &binary.right),
            (_, Outcome::True) => [assured(&binary.left, outcome), assured(&binary.right, outcome)].concat(),
            _ => Vec::new(),
        },
        Expr::Filter(filter) if matches!(filter.name, "default" | "d") && outcome == Outcome::True => {
            when(true, filter.expr.as_ref().and_then(root))
        }
        Expr::Filter(filter) => filter.expr.as_ref().map(|inner| assured(inner, outcome)).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn when(holds: bool, name: Option<&str>) -> Vec<String> {
    name.filter(|_| holds).map(str::to_owned).into_iter().collect()
}

/// The name at the root of a chain of attributes.
pub(in crate::template) fn root<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    match expr {
        Expr::Var(var) => Some(var.id),
        Expr::GetAttr(attribute) => root(&attribute.expr),
        Expr::GetItem(item) => root(&item.expr),
        Expr::Call(call) => root(&call.expr),
        _ => None,
    }
}

/// `'step' in context.history` makes sure of `step`.
fn history_entry(left: &Expr<'_>, right: &Expr<'_>) -> Vec<String> {
    match (left, right) {
        (Expr::Const(name), Expr::GetAttr(history)) if history.name == "history" => {
            when(root(right) == Some("context"), name.value.as_str())
        }
        _ => Vec::new(),
    }
}
