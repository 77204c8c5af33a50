//! How deep a program is nested. Looking over one that is nested deeper than the interpreter allows would take stack that
//! counts as the program's memory.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ModModule, Stmt};

/// Deeper than the interpreter goes.
const DEEPEST: u32 = 250;

/// Whether the program is nested deeper than is looked at.
pub fn is_too_deep(module: &ModModule) -> bool {
    let mut depth = Depth { now: 0, is_exceeded: false };
    module.body.iter().for_each(|stmt| depth.visit_stmt(stmt));
    depth.is_exceeded
}

struct Depth {
    now: u32,
    is_exceeded: bool,
}

impl Depth {
    fn enter(&mut self, walk: impl FnOnce(&mut Depth)) {
        self.is_exceeded |= self.now >= DEEPEST;
        if !self.is_exceeded {
            self.now += 1;
            walk(self);
            self.now -= 1;
        }
    }
}

impl<'a> Visitor<'a> for Depth {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.enter(|depth| walk_stmt(depth, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.enter(|depth| walk_expr(depth, expr));
    }
}
