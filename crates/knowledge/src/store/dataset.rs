//! `spareval`'s view of the store, for one query.
//!
//! The default graph of a query is the union of all graphs that it may see, each triple once. Values that a query makes live in it
//! alone, and are bounded. Everything is of one moment: the caller holds a read transaction.

use super::rows::{Pattern, Rows};
use super::words::{self, MATCHES};
use super::{find, term_of};
use crate::term;
use oxrdf::Term;
use rusqlite::{Connection, Statement};
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

/// What a query may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Quads that it looks at.
    pub quads: u64,
    /// When it must have ended.
    pub until: Option<Instant>,
    /// Values that it makes.
    pub terms: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { quads: u64::MAX, until: None, terms: 4_000_000 }
    }
}

/// Why a query ends before its end.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The database.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A limit was passed.
    #[error("{0}")]
    TooMuch(&'static str),
}

/// Terms that the cache of one query keeps.
const CACHED: usize = 100_000;

/// How often the clock is read: each so many look-ups.
const CLOCK: u64 = 64;

/// By order, bound columns, and whether they go on behind a row.
type Statements<'c> = HashMap<(usize, u8, bool), Rc<RefCell<Statement<'c>>>>;

pub(super) struct Inner<'c> {
    pub connection: &'c Connection,
    pub statements: RefCell<Statements<'c>>,
    term: RefCell<Statement<'c>>,
    terms: RefCell<HashMap<i64, Term>>,
    local: RefCell<(Vec<Term>, HashMap<Term, i64>)>,
    limits: Limits,
    looked_up: Cell<u64>,
    quads: Cell<u64>,
    pub allowed: Option<HashSet<i64>>,
    matches: Cell<Option<i64>>,
}

impl Inner<'_> {
    /// Counts one look-up that gave so many quads.
    pub fn count(&self, quads: u64) -> Result<(), Trouble> {
        self.looked_up.set(self.looked_up.get() + 1);
        self.quads.set(self.quads.get() + quads);
        if self.quads.get() > self.limits.quads {
            return Err(Trouble::TooMuch("it looked at too many facts"));
        }
        if self.looked_up.get().is_multiple_of(CLOCK)
            && self.limits.until.is_some_and(|until| Instant::now() >= until)
        {
            return Err(Trouble::TooMuch("it took too long"));
        }
        Ok(())
    }
}

/// One reader's view.
#[derive(Clone)]
pub struct Dataset<'c>(Rc<Inner<'c>>);

impl<'c> Dataset<'c> {
    /// All graphs, or only these.
    pub fn new(
        connection: &'c Connection,
        limits: Limits,
        allowed: Option<HashSet<i64>>,
    ) -> rusqlite::Result<Dataset<'c>> {
        let term = connection.prepare("SELECT kind, v, x FROM term WHERE id = ?1")?;
        Ok(Dataset(Rc::new(Inner {
            connection,
            statements: RefCell::default(),
            term: RefCell::new(term),
            terms: RefCell::default(),
            local: RefCell::default(),
            limits,
            looked_up: Cell::default(),
            quads: Cell::default(),
            allowed,
            matches: Cell::default(),
        })))
    }

    fn found(&self, pattern: &Pattern, predicate: i64) -> Result<Vec<[i64; 4]>, Trouble> {
        let Some(words) = pattern.object else {
            return Err(Trouble::TooMuch("cv:matches needs the words that are searched"));
        };
        let Term::Literal(text) = self.externalize_term(words)? else { return Ok(Vec::new()) };
        let rows = words::search(self.0.connection, pattern.subject, text.value())?;
        self.0.count(rows.len() as u64)?;
        let fits = |row: &&[i64; 2]| pattern.graph.flatten().is_none_or(|graph| row[1] == graph);
        Ok(rows.iter().filter(fits).map(|[s, g]| [*s, predicate, words, *g]).collect())
    }
}

impl<'c> QueryableDataset<'c> for Dataset<'c> {
    type InternalTerm = i64;
    type Error = Trouble;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&i64>,
        predicate: Option<&i64>,
        object: Option<&i64>,
        graph_name: Option<Option<&i64>>,
    ) -> impl Iterator<Item = Result<InternalQuad<i64>, Trouble>> + use<'c> {
        let pattern = Pattern {
            subject: subject.copied(),
            predicate: predicate.copied(),
            object: object.copied(),
            graph: graph_name.map(|graph| graph.copied()),
        };
        match pattern.predicate {
            Some(predicate) if self.0.matches.get() == Some(predicate) => {
                Rows::given(self.0.clone(), &pattern, self.found(&pattern, predicate))
            }
            _ => Rows::of(self.0.clone(), &pattern),
        }
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<i64, Trouble>> + use<'c> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            self.0
                .connection
                .prepare_cached("SELECT g FROM graph")?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        let allowed = |g: &i64| self.0.allowed.as_ref().is_none_or(|allowed| allowed.contains(g));
        let found: Vec<Result<i64, Trouble>> = match read() {
            Ok(graphs) => graphs.into_iter().filter(allowed).map(Ok).collect(),
            Err(error) => vec![Err(error.into())],
        };
        found.into_iter()
    }

    fn internalize_term(&self, term: Term) -> Result<i64, Trouble> {
        if matches!(&term, Term::NamedNode(node) if node.as_str() == MATCHES) {
            let id = term::pack(term::LOCAL, i64::from(u32::MAX));
            self.0.matches.set(Some(id));
            return Ok(id);
        }
        if let Some(id) = term::inline(&term) {
            return Ok(id);
        }
        if let Some(id) = self.0.local.borrow().1.get(&term) {
            return Ok(*id);
        }
        if let Some(id) = find(self.0.connection, &term)? {
            return Ok(id);
        }
        let mut local = self.0.local.borrow_mut();
        if local.0.len() >= self.0.limits.terms {
            return Err(Trouble::TooMuch("it made too many values"));
        }
        let id = term::pack(term::LOCAL, local.0.len() as i64);
        local.0.push(term.clone());
        local.1.insert(term, id);
        Ok(id)
    }

    fn externalize_term(&self, id: i64) -> Result<Term, Trouble> {
        if let Some(literal) = term::outline(id) {
            return Ok(literal.into());
        }
        if term::tag(id) == term::LOCAL {
            let local = self.0.local.borrow();
            let known = local.0.get(term::payload(id) as usize).cloned();
            return Ok(known.unwrap_or_else(|| oxrdf::NamedNode::new_unchecked(MATCHES).into()));
        }
        if let Some(term) = self.0.terms.borrow().get(&id) {
            return Ok(term.clone());
        }
        let mut statement = self.0.term.borrow_mut();
        let term = statement
            .query_row([term::payload(id)], |row| Ok(term_of(row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut terms = self.0.terms.borrow_mut();
        if terms.len() >= CACHED {
            terms.clear();
        }
        terms.insert(id, term.clone());
        Ok(term)
    }

    fn externalize_expression_term(&self, id: i64) -> Result<ExpressionTerm, Trouble> {
        Ok(match term::tag(id) {
            term::INTEGER => ExpressionTerm::IntegerLiteral(term::payload(id).into()),
            term::BOOLEAN => ExpressionTerm::BooleanLiteral((term::payload(id) == 1).into()),
            term::MOMENT => ExpressionTerm::DateTimeLiteral(term::moment(term::payload(id))),
            _ => self.externalize_term(id)?.into(),
        })
    }

    fn internalize_expression_term(&self, term: ExpressionTerm) -> Result<i64, Trouble> {
        match &term {
            ExpressionTerm::IntegerLiteral(number) if term::fits((*number).into()) => {
                Ok(term::pack(term::INTEGER, (*number).into()))
            }
            ExpressionTerm::BooleanLiteral(value) => {
                Ok(term::pack(term::BOOLEAN, i64::from(bool::from(*value))))
            }
            _ => self.internalize_term(term.into()),
        }
    }
}
