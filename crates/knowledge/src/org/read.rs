//! Reads Turtle, JSON-LD and RDF/XML, and keeps where each triple stands.
//!
//! Turtle is fed to its parser line by line, so a triple stands in the line with which it was complete; RDF/XML tells its place. JSON-LD
//! does not: there the name of the object is looked for.

use super::findings;
use convoke_plan::Diagnostic;
use convoke_plan::diagnostic::{SourceFile, Span};
use oxjsonld::JsonLdParser;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxrdfxml::RdfXmlParser;
use oxttl::TurtleParser;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The largest file that is read.
pub const LARGEST: usize = 32 << 20;

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Text {
    /// Its path.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// The formats of organisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Turtle.
    Turtle,
    /// JSON-LD without remote contexts.
    JsonLd,
    /// RDF/XML without entities.
    RdfXml,
}

impl Format {
    /// By the ending of a file's name.
    pub fn of(path: &str) -> Option<Format> {
        match path.rsplit('.').next()?.to_ascii_lowercase().as_str() {
            "ttl" | "turtle" | "nt" => Some(Format::Turtle),
            "jsonld" | "json" => Some(Format::JsonLd),
            "rdf" | "xml" | "owl" => Some(Format::RdfXml),
            _ => None,
        }
    }
}

/// What was written, each triple with its place.
#[derive(Debug, Default)]
pub struct Stated {
    triples: Vec<Triple>,
    places: HashMap<Triple, Span>,
    files: Vec<Arc<SourceFile>>,
}

impl Stated {
    /// All of them, in the order of the files.
    pub fn triples(&self) -> impl Iterator<Item = &Triple> {
        self.triples.iter()
    }

    /// Where a triple was written.
    pub fn place(&self, triple: &Triple) -> Option<Span> {
        self.places.get(triple).cloned()
    }

    /// The first place at which a name is written as a subject, or else at all.
    pub fn place_of(&self, iri: &str) -> Span {
        let is_subject = |triple: &&Triple| matches!(&triple.subject, NamedOrBlankNode::NamedNode(node) if node.as_str() == iri);
        let is_named = |triple: &&Triple| {
            triple.predicate.as_str() == iri
                || matches!(&triple.object, Term::NamedNode(node) if node.as_str() == iri)
        };
        let found = self.triples.iter().find(is_subject).or_else(|| self.triples.iter().find(is_named));
        found.and_then(|triple| self.place(triple)).unwrap_or_else(|| self.start())
    }

    /// Which of the files a place is in.
    pub(super) fn number_of(&self, place: &Span) -> usize {
        self.files.iter().position(|file| Arc::ptr_eq(file, &place.file)).unwrap_or_default()
    }

    /// The beginning of the first file.
    pub fn start(&self) -> Span {
        let nothing = || Arc::new(SourceFile { path: String::new(), text: String::new() });
        Span { file: self.files.first().cloned().unwrap_or_else(nothing), range: 0..0 }
    }

    /// Adds what follows from a triple by a translation, at its place.
    pub(super) fn add_like(&mut self, triple: Triple, like: &Triple) {
        if let Some(place) = self.place(like) {
            self.add(triple, place);
        }
    }

    fn add(&mut self, triple: Triple, place: Span) {
        if !self.places.contains_key(&triple) {
            self.places.insert(triple.clone(), place);
            self.triples.push(triple);
        }
    }
}

/// Reads all files; the findings say what cannot be read.
pub fn read(texts: &[Text]) -> Result<Stated, Vec<Diagnostic>> {
    let mut stated = Stated::default();
    let mut found = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let file = Arc::new(SourceFile { path: text.path.clone(), text: text.text.clone() });
        stated.files.push(file.clone());
        if text.text.len() > LARGEST {
            found.push(findings::too_large(&file));
            continue;
        }
        let read = match Format::of(&text.path) {
            Some(Format::Turtle) => turtle(&file, number, &mut stated),
            Some(Format::JsonLd) => json_ld(&file, number, &mut stated),
            Some(Format::RdfXml) => rdf_xml(&file, number, &mut stated),
            None => Err(findings::unknown_format(&file)),
        };
        found.extend(read.err());
    }
    if found.is_empty() { Ok(stated) } else { Err(found) }
}

/// What relative names begin with.
fn base(path: &str) -> String {
    format!("file:///{}", crate::vocab::encode(path.trim_start_matches(['/', '.'])))
}

fn turtle(file: &Arc<SourceFile>, number: usize, stated: &mut Stated) -> Result<(), Diagnostic> {
    let parser = TurtleParser::new()
        .with_base_iri(base(&file.path))
        .map_err(|error| findings::syntax(file, 0..0, &error.to_string()))?;
    let mut parser = parser.low_level();
    let mut line = 0..0;
    loop {
        while let Some(parsed) = parser.parse_next() {
            let triple = parsed.map_err(|error| {
                let at = error.location();
                let from = (at.start.offset as usize).min(file.text.len());
                findings::syntax(
                    file,
                    from..(at.end.offset as usize).clamp(from, file.text.len()),
                    error.message(),
                )
            })?;
            let place = within(file, line.clone(), &triple);
            stated.add(own(triple, number), place);
        }
        if parser.is_end() {
            return Ok(());
        }
        let rest = &file.text[line.end..];
        let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
        if length == 0 {
            parser.end();
            continue;
        }
        line = line.end..line.end + length;
        parser.extend_from_slice(&file.text.as_bytes()[line.clone()]);
    }
}

fn rdf_xml(file: &Arc<SourceFile>, number: usize, stated: &mut Stated) -> Result<(), Diagnostic> {
    if file.text.contains("<!ENTITY") {
        let at = file.text.find("<!ENTITY").unwrap_or_default();
        return Err(findings::entity(file, at..at + "<!ENTITY".len()));
    }
    let parser = RdfXmlParser::new()
        .with_base_iri(base(&file.path))
        .map_err(|error| findings::syntax(file, 0..0, &error.to_string()))?;
    let mut parser = parser.for_slice(&file.text);
    loop {
        let Some(parsed) = parser.next() else { return Ok(()) };
        let end = (parser.buffer_position() as usize).min(file.text.len());
        let end = file.text.floor_char_boundary(end);
        let start = file.text[..end.saturating_sub(1)].rfind('\n').map_or(0, |at| at + 1);
        let triple = parsed.map_err(|error| findings::syntax(file, start..end, &error.to_string()))?;
        let place = within(file, start..end, &triple);
        stated.add(own(triple, number), place);
    }
}

fn json_ld(file: &Arc<SourceFile>, number: usize, stated: &mut Stated) -> Result<(), Diagnostic> {
    let parser = JsonLdParser::new()
        .with_base_iri(base(&file.path))
        .map_err(|error| findings::syntax(file, 0..0, &error.to_string()))?;
    for parsed in parser.for_slice(&file.text) {
        let quad = parsed.map_err(|error| {
            let at = error.location().map_or(0, |at| at.start.offset as usize).min(file.text.len());
            findings::syntax(file, at..at, &error.to_string())
        })?;
        let triple = Triple::from(quad);
        let place = within(file, 0..file.text.len(), &triple);
        stated.add(own(triple, number), place);
    }
    Ok(())
}

/// Blank nodes of two files are two things.
fn own(mut triple: Triple, number: usize) -> Triple {
    let renamed =
        |node: &oxrdf::BlankNode| oxrdf::BlankNode::new_unchecked(format!("f{number}{}", node.as_str()));
    if let NamedOrBlankNode::BlankNode(node) = &triple.subject {
        triple.subject = renamed(node).into();
    }
    if let Term::BlankNode(node) = &triple.object {
        triple.object = renamed(node).into();
    }
    triple
}

/// The place of a triple within a part of the text: its object where that is found, else all of the part.
fn within(file: &Arc<SourceFile>, part: Range<usize>, triple: &Triple) -> Span {
    let text = &file.text[part.clone()];
    let name = match &triple.object {
        Term::NamedNode(node) => crate::vocab::local(node.as_str()).to_owned(),
        Term::Literal(literal) => literal.value().to_owned(),
        Term::BlankNode(_) => String::new(),
    };
    let is_part = |at: usize| {
        text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let found = text
        .match_indices(name.as_str())
        .map(|(at, _)| at)
        .filter(|at| !name.is_empty() && !is_part(*at))
        .last();
    let range = match found {
        Some(at) => part.start + at..part.start + at + name.len(),
        None => {
            let lead = text.len() - text.trim_start().len();
            let line = text.trim_start().lines().next().unwrap_or_default();
            part.start + lead..part.start + lead + line.len()
        }
    };
    Span { file: file.clone(), range }
}
