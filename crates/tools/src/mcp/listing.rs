//! Asks a server for its tools, page by page, within bounds: a list that does not end is refused.

use convoke_model::excerpt::clipped;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use std::collections::HashSet;
use std::fmt;

/// The most pages of a list.
const MOST_PAGES: usize = 1_000;
/// The most tools of a server; no model can choose among more.
const MOST_TOOLS: usize = 10_000;
/// The most that names, descriptions and schemas come to, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Why there is no list of tools.
#[derive(Debug)]
pub enum Unlisted {
    /// The server did not answer, or with an error.
    Service(ServiceError),
    /// What it lists does not end.
    Endless(String),
}

impl Unlisted {
    /// Whether asking again would come to the same.
    pub fn is_final(&self) -> bool {
        matches!(self, Unlisted::Endless(_))
    }
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unlisted::Service(error) => error.fmt(f),
            Unlisted::Endless(fault) => f.write_str(fault),
        }
    }
}

/// Every tool that a server lists.
///
/// # Errors
///
/// Those of the server, and a list that repeats a page or is longer than any list of use.
pub async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, Unlisted> {
    let mut list = List::default();
    let mut cursor = None;
    loop {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await;
        let page = page.map_err(Unlisted::Service)?;
        list.add(page.tools).map_err(Unlisted::Endless)?;
        cursor = page.next_cursor;
        match &cursor {
            Some(next) => list.continue_from(next).map_err(Unlisted::Endless)?,
            None => return Ok(list.tools),
        }
    }
}

/// What was listed so far.
#[derive(Default)]
struct List {
    tools: Vec<Tool>,
    bytes: usize,
    cursors: HashSet<String>,
}

impl List {
    fn add(&mut self, tools: Vec<Tool>) -> Result<(), String> {
        let bytes = |tool: &Tool| serde_json::to_vec(tool).map_or(0, |text| text.len());
        self.bytes += tools.iter().map(bytes).sum::<usize>();
        self.tools.extend(tools);
        if self.tools.len() > MOST_TOOLS {
            return Err(format!("its list of tools does not end: more than {MOST_TOOLS} tools"));
        }
        if self.bytes > MOST_BYTES {
            return Err(format!("its list of tools does not end: more than {MOST_BYTES} bytes"));
        }
        Ok(())
    }

    fn continue_from(&mut self, cursor: &str) -> Result<(), String> {
        // An empty page with a new cursor may be right once; without end it is not.
        if self.cursors.len() >= MOST_PAGES {
            return Err(format!("its list of tools does not end: more than {MOST_PAGES} pages"));
        }
        match self.cursors.insert(cursor.to_owned()) {
            true => Ok(()),
            false => {
                let shown = clipped(cursor, 40);
                Err(format!("its list of tools does not end: the cursor {shown:?} came twice"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_comes_again_or_never_ends_is_refused() {
        let mut list = List::default();
        assert!(list.continue_from("a").is_ok() && list.continue_from("b").is_ok());
        assert_eq!(
            list.continue_from("a").unwrap_err(),
            "its list of tools does not end: the cursor \"a\" came twice"
        );
        let mut list = List::default();
        let fault = (0..).find_map(|page: u64| list.continue_from(&page.to_string()).err());
        assert_eq!(fault.as_deref(), Some("its list of tools does not end: more than 1000 pages"));
    }
}
