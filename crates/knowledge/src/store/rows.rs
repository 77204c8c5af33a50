//! Rows of one pattern, piece by piece.
//!
//! No statement stays open between two rows: the next piece begins behind the last row, so iterators hold no borrow of a cursor. Rows
//! come in an order whose last column is the graph, so the same triple of two graphs stands side by side and is given once.

use super::dataset::{Inner, Trouble};
use crate::term;
use rusqlite::Statement;
use spareval::InternalQuad;
use std::cell::RefCell;
use std::rc::Rc;

/// What is asked for.
pub(super) struct Pattern {
    pub subject: Option<i64>,
    pub predicate: Option<i64>,
    pub object: Option<i64>,
    /// `None`: any named graph. `Some(None)`: the union of all.
    pub graph: Option<Option<i64>>,
}

/// An order of the table: where it is kept, its columns, and what else must hold for it.
struct Order {
    table: &'static str,
    columns: [usize; 4],
    also: &'static str,
}

const ORDERS: [Order; 4] = [
    Order { table: "quad", columns: [0, 1, 2, 3], also: "" },
    Order { table: "quad INDEXED BY quad_posg", columns: [1, 2, 0, 3], also: "" },
    Order { table: "quad INDEXED BY quad_ospg", columns: [2, 0, 1, 3], also: " AND (o & 7) = 0" },
    Order { table: "quad INDEXED BY quad_gspo", columns: [3, 0, 1, 2], also: "" },
];
const COLUMNS: [&str; 4] = ["s", "p", "o", "g"];

/// Rows of the first piece, the second, and every further one.
const PIECES: [i64; 3] = [24, 256, 2048];

/// The parameter that bounds a piece; 1 to 4 are values, 5 to 8 the last row.
const PIECE: usize = 9;

pub(super) struct Rows<'c> {
    inner: Rc<Inner<'c>>,
    values: [i64; 4],
    /// A bit for each column that is bound.
    bound: u8,
    order: usize,
    union: bool,
    piece: std::vec::IntoIter<[i64; 4]>,
    trouble: Option<Trouble>,
    last: Option<[i64; 4]>,
    given: Option<[i64; 3]>,
    turn: usize,
    over: bool,
}

impl<'c> Rows<'c> {
    /// What the table holds.
    pub fn of(inner: Rc<Inner<'c>>, pattern: &Pattern) -> Rows<'c> {
        let mut rows = Rows::new(inner, pattern);
        let is_impossible = |(column, value): (usize, &i64)| {
            let is_bound = rows.bound & (1 << column) != 0;
            is_bound
                && (term::tag(*value) == term::LOCAL || column != 2 && term::tag(*value) != term::RESOURCE)
        };
        rows.over = rows.values.iter().enumerate().any(is_impossible);
        rows
    }

    /// What was found elsewhere.
    pub fn given(inner: Rc<Inner<'c>>, pattern: &Pattern, found: Result<Vec<[i64; 4]>, Trouble>) -> Rows<'c> {
        let mut rows = Rows::new(inner, pattern);
        rows.over = true;
        match found {
            Ok(found) => rows.piece = found.into_iter(),
            Err(trouble) => rows.trouble = Some(trouble),
        }
        rows
    }

    fn new(inner: Rc<Inner<'c>>, pattern: &Pattern) -> Rows<'c> {
        let mut values = [0; 4];
        let mut bound = 0;
        let columns = [pattern.subject, pattern.predicate, pattern.object, pattern.graph.flatten()];
        for (column, value) in columns.into_iter().enumerate() {
            if let Some(value) = value {
                values[column] = value;
                bound |= 1 << column;
            }
        }
        Rows {
            inner,
            values,
            bound,
            order: order_for(pattern),
            union: pattern.graph == Some(None),
            piece: Vec::new().into_iter(),
            trouble: None,
            last: None,
            given: None,
            turn: 0,
            over: false,
        }
    }

    fn is_bound(&self, column: usize) -> bool {
        self.bound & (1 << column) != 0
    }

    /// The columns behind those that are bound, in the order's sequence.
    fn tail(&self) -> &'static [usize] {
        let columns = &ORDERS[self.order].columns;
        let prefix = columns.iter().take_while(|column| self.is_bound(**column)).count();
        &columns[prefix..]
    }

    fn statement(&self) -> rusqlite::Result<Rc<RefCell<Statement<'c>>>> {
        let key = (self.order, self.bound, self.last.is_some());
        if let Some(statement) = self.inner.statements.borrow().get(&key) {
            return Ok(statement.clone());
        }
        let statement = Rc::new(RefCell::new(self.inner.connection.prepare(&self.sql())?));
        self.inner.statements.borrow_mut().insert(key, statement.clone());
        Ok(statement)
    }

    fn sql(&self) -> String {
        let Order { table, also, .. } = &ORDERS[self.order];
        let bound: String = (0..4)
            .filter(|column| self.is_bound(*column))
            .map(|column| format!(" AND {} = ?{}", COLUMNS[column], column + 1))
            .collect();
        let tail = self.tail();
        let names = tail.iter().map(|column| COLUMNS[*column]).collect::<Vec<_>>().join(", ");
        let marks = tail.iter().map(|column| format!("?{}", column + 5)).collect::<Vec<_>>().join(", ");
        let behind = match (self.last, tail.is_empty()) {
            (Some(_), false) => format!(" AND ({names}) > ({marks})"),
            _ => String::new(),
        };
        let order = if tail.is_empty() { String::new() } else { format!(" ORDER BY {names}") };
        format!("SELECT s, p, o, g FROM {table} WHERE 1{bound}{also}{behind}{order} LIMIT ?{PIECE}")
    }

    fn fetch(&mut self) -> Result<(), Trouble> {
        let size = PIECES[self.turn.min(PIECES.len() - 1)];
        self.turn += 1;
        let statement = self.statement()?;
        let mut statement = statement.borrow_mut();
        for column in (0..4).filter(|column| self.is_bound(*column)) {
            statement.raw_bind_parameter(column + 1, self.values[column])?;
        }
        if let Some(last) = self.last {
            for column in self.tail() {
                statement.raw_bind_parameter(column + 5, last[*column])?;
            }
        }
        statement.raw_bind_parameter(PIECE, size)?;
        let mut rows = Vec::new();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            rows.push([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
        }
        self.over = (rows.len() as i64) < size || self.tail().is_empty();
        self.last = rows.last().copied();
        self.inner.count(rows.len() as u64)?;
        self.piece = rows.into_iter();
        Ok(())
    }

    /// The row as it is given; `None` where it may not be seen, or was given for another graph.
    fn seen(&mut self, [subject, predicate, object, graph]: [i64; 4]) -> Option<InternalQuad<i64>> {
        if self.inner.allowed.as_ref().is_some_and(|allowed| !allowed.contains(&graph)) {
            return None;
        }
        let triple = Some([subject, predicate, object]);
        if self.union && std::mem::replace(&mut self.given, triple) == triple {
            return None;
        }
        Some(InternalQuad { subject, predicate, object, graph_name: (!self.union).then_some(graph) })
    }
}

/// The order in which what is bound stands first.
fn order_for(pattern: &Pattern) -> usize {
    let is_resource = pattern.object.is_some_and(|object| term::tag(object) == term::RESOURCE);
    let graph = pattern.graph.flatten();
    match (pattern.subject.is_some(), pattern.predicate.is_some(), pattern.object.is_some(), graph.is_some())
    {
        (true, false, true, _) if is_resource => 2,
        (true, ..) => 0,
        (false, true, true, _) => 1,
        (false, false, true, _) if is_resource => 2,
        (false, _, _, true) => 3,
        (false, true, false, false) => 1,
        (false, false, _, false) => 0,
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<InternalQuad<i64>, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.piece.next() {
                match self.seen(row) {
                    Some(quad) => return Some(Ok(quad)),
                    None => continue,
                }
            }
            if let Some(trouble) = self.trouble.take() {
                return Some(Err(trouble));
            }
            if self.over {
                return None;
            }
            if let Err(trouble) = self.fetch() {
                self.over = true;
                return Some(Err(trouble));
            }
        }
    }
}
