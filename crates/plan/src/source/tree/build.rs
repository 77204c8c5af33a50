//! Builds the tree from the parser's events.
//!
//! Duplicate keys, merge keys, aliases and the budgets that keep a small file from becoming a large tree are decided
//! here. `!file` is asked for through [`Includes`], because reading files is the work of `Sources`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag, options};

use super::super::text::Spanned;
use super::syntax::{self, Progress};
use super::{MAX_HEIGHT, Node, Pair, Scalar, Style, Value, Weight};
use crate::diagnostic::{Diagnostic, SourceFile, Span};

/// Nodes that aliases may stand for in one file, all written out.
const MAX_ALIASED_NODES: u64 = 1_000_000;
/// Bytes of text that aliases may stand for in one file.
const MAX_ALIASED_BYTES: u64 = 64 << 20;

/// Reads the file that a `!file` tag names.
pub(in crate::source) trait Includes {
    /// The node for a path as written, at the place of the tag and the path.
    fn include(&mut self, path: &str, span: Span) -> Rc<Node>;
    /// Keeps a finding.
    fn report(&mut self, diagnostic: Diagnostic);
}

/// What came of a file.
pub(in crate::source) enum Built {
    /// Its one document.
    Root(Rc<Node>),
    /// It holds no document.
    Empty,
    /// A finding that leaves nothing to read; given, not yet reported.
    Failed(Box<Diagnostic>),
}

enum Frame {
    Seq { items: Vec<Rc<Node>>, open: Open },
    Map { pairs: Vec<Pair>, merges: Vec<Rc<Node>>, key: Option<Key>, unusable: bool, open: Open },
}

struct Open {
    start: usize,
    flow: bool,
    anchor: usize,
    weight: Weight,
}

enum Key {
    Named(Spanned<String>),
    Merge,
    /// Not a text; already reported.
    Unusable,
}

/// One file on its way to a tree.
pub(in crate::source) struct Builder<'a> {
    file: Arc<SourceFile>,
    includes: &'a mut dyn Includes,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Rc<Node>>,
    aliased: Weight,
    root: Option<Rc<Node>>,
    read_to: usize,
}

impl<'a> Builder<'a> {
    /// Prepares the reading of a text.
    pub fn new(file: Arc<SourceFile>, includes: &'a mut dyn Includes) -> Self {
        let (stack, anchors) = (Vec::new(), HashMap::new());
        Self { file, includes, stack, anchors, aliased: Weight::default(), root: None, read_to: 0 }
    }

    /// Reads the whole text.
    pub fn build(mut self) -> Built {
        let file = self.file.clone();
        let options = options! { emit_comments: false, emit_unresolved_aliases: true };
        for event in Parser::new_from_str_with_options(&file.text, options) {
            let step = match event {
                Ok((event, span)) => self.event(event, &span),
                Err(error) => Err(Box::new(syntax::report(&error, &file, &self.progress()))),
            };
            if let Err(diagnostic) = step {
                return Built::Failed(diagnostic);
            }
        }
        self.root.map_or(Built::Empty, Built::Root)
    }

    fn progress(&self) -> Progress {
        let open = self.stack.iter().rev().map(Frame::open).find(|open| open.flow).map(|open| open.start);
        Progress { read_to: self.read_to, open }
    }

    fn event(&mut self, event: Event<'_>, at: &granit_parser::Span) -> Result<(), Box<Diagnostic>> {
        let range = at.byte_range().unwrap_or(self.read_to..self.read_to);
        self.read_to = self.read_to.max(range.end);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(self.second_document(range)),
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(text.into_owned(), style, tag.as_deref(), at, range);
                self.finish(node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_collection_tag(tag.as_deref(), &range);
                self.stack.push(Frame::Seq { items: Vec::new(), open: Open::new(&range, style, anchor) });
                Ok(())
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_collection_tag(tag.as_deref(), &range);
                self.stack.push(Frame::map(Open::new(&range, style, anchor)));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(anchor) => self.alias(anchor, range),
            Event::UnresolvedAlias(name) => {
                let span = self.span(range);
                self.unknown_anchor(&name, span.clone());
                self.finish(Node::broken(span), 0)
            }
            _ => Ok(()),
        }
    }

    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span { file: self.file.clone(), range }
    }

    fn scalar(
        &mut self,
        raw: String,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: &granit_parser::Span,
        range: std::ops::Range<usize>,
    ) -> Rc<Node> {
        let inner = self.span(range.clone());
        let tag_start = at.tag_start().and_then(|mark| mark.byte_offset()).unwrap_or(range.start);
        let span = self.span(tag_start.min(range.start)..range.end);
        let style = match tag {
            None => from_parser(style),
            Some(tag) if is_file(tag) => return self.includes.include(&raw, span),
            Some(tag) => self.tagged_style(tag, style, &span),
        };
        let weight = Weight::scalar(raw.len());
        Rc::new(Node { value: Value::Scalar(Scalar { raw, style, inner }), span, included: None, weight })
    }

    fn tagged_style(&mut self, tag: &Tag, style: ScalarStyle, span: &Span) -> Style {
        match tag.core_suffix() {
            Some("str") => Style::Verbatim,
            Some("int" | "float" | "bool" | "null") => Style::Plain,
            _ if tag.suffix().is_empty() => Style::Verbatim,
            _ => {
                self.unknown_tag(tag, span.clone());
                from_parser(style)
            }
        }
    }

    fn check_collection_tag(&mut self, tag: Option<&Tag>, range: &std::ops::Range<usize>) {
        let Some(tag) = tag else { return };
        let span = self.span(range.clone());
        if is_file(tag) {
            let message = "`!file` takes a path, found a list or a mapping";
            self.includes.report(Diagnostic::error("file::no_path", message, span, "not a path"));
        } else if !matches!(tag.core_suffix(), Some("seq" | "map")) {
            self.unknown_tag(tag, span);
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, span: Span) {
        let name = format!("{}{}", tag.original_handle(), tag.suffix());
        let message = format!("tag `{name}` is not known");
        let help = "the only tag with a meaning here is `!file path`";
        self.includes.report(Diagnostic::error("yaml::unknown_tag", message, span, "this tag").help(help));
    }

    fn unknown_anchor(&mut self, name: &str, span: Span) {
        let message = format!("alias `*{name}` refers to an anchor that is not defined before it");
        self.includes.report(Diagnostic::error("yaml::unknown_anchor", message, span, "no such anchor"));
    }

    fn second_document(&self, range: std::ops::Range<usize>) -> Box<Diagnostic> {
        let message = "the file holds more than one YAML document";
        Box::new(
            Diagnostic::error(
                "yaml::multiple_documents",
                message,
                self.span(range),
                "a second document begins here",
            )
            .help("keep one document per file"),
        )
    }

    fn alias(&mut self, anchor: usize, range: std::ops::Range<usize>) -> Result<(), Box<Diagnostic>> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            // The anchor belongs to a collection that is still open: it would contain itself.
            let span = self.span(range);
            let message = "an alias stands inside the value that it refers to";
            self.includes.report(Diagnostic::error(
                "yaml::recursive_alias",
                message,
                span.clone(),
                "this alias",
            ));
            return self.finish(Node::broken(span), 0);
        };
        self.aliased = self.aliased.with(node.weight);
        if self.aliased.nodes > MAX_ALIASED_NODES || self.aliased.bytes > MAX_ALIASED_BYTES {
            let message = "the aliases of this file stand for too much when written out";
            return Err(Box::new(Diagnostic::error(
                "yaml::alias_bomb",
                message,
                self.span(range),
                "this one is too many",
            )));
        }
        self.finish(node, 0)
    }

    fn close(&mut self, end: usize) -> Result<(), Box<Diagnostic>> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let (value, open) = match frame {
            Frame::Seq { items, open } => (Value::Seq(items), open),
            // Nothing but keys that are none: most often a template without quotes, and reported as that.
            Frame::Map { pairs, merges, unusable: true, open, .. }
                if pairs.is_empty() && merges.is_empty() =>
            {
                (Value::Broken, open)
            }
            Frame::Map { pairs, merges, open, .. } => (Value::Map(self.finish_map(pairs, &merges)), open),
        };
        let end = if open.flow { end } else { self.last_end(&value).unwrap_or(end) };
        let span = self.span(open.start..end.max(open.start));
        if open.weight.height > MAX_HEIGHT {
            let message = format!("the file has more than {MAX_HEIGHT} levels of nesting");
            return Err(Box::new(Diagnostic::error("yaml::too_deep", message, span, "too deep")));
        }
        self.finish(Rc::new(Node { value, span, included: None, weight: open.weight }), open.anchor)
    }

    /// The parser ends a block collection at the next token; it really ends with its last value.
    fn last_end(&self, value: &Value) -> Option<usize> {
        let last = match value {
            Value::Seq(items) => items.last(),
            Value::Map(pairs) => pairs.last().map(|pair| &pair.value),
            _ => None,
        }?;
        Arc::ptr_eq(&last.span.file, &self.file).then_some(last.span.range.end)
    }

    fn finish(&mut self, node: Rc<Node>, anchor: usize) -> Result<(), Box<Diagnostic>> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.stack.last_mut() {
            None => {
                self.root.get_or_insert(node);
            }
            Some(Frame::Map { key: key @ None, .. }) => *key = Some(key_of(&node, self.includes)),
            Some(frame) => frame.add(node),
        }
        Ok(())
    }

    fn finish_map(&mut self, mut pairs: Vec<Pair>, merges: &[Rc<Node>]) -> Vec<Pair> {
        self.report_duplicates(&pairs);
        for merge in merges {
            self.merge(&mut pairs, merge);
        }
        pairs
    }

    fn report_duplicates(&mut self, pairs: &[Pair]) {
        let mut seen: HashMap<&str, &Span> = HashMap::new();
        for (index, pair) in pairs.iter().enumerate() {
            let earlier = match pairs.len() {
                ..=16 => {
                    pairs[..index].iter().find(|other| other.key.value == pair.key.value).map(|o| &o.key.span)
                }
                _ => seen.insert(&pair.key.value, &pair.key.span),
            };
            if let Some(earlier) = earlier {
                let message =
                    format!("duplicate key `{}`: it already stands in this mapping", pair.key.value);
                let span = pair.key.span.clone();
                let finding = Diagnostic::error("yaml::duplicate_key", message, span, "the second one");
                self.includes.report(finding.also(earlier.clone(), "the first one"));
            }
        }
    }

    /// Adds what a merge key brings: keys that are written out win, earlier sources win over later ones.
    fn merge(&mut self, pairs: &mut Vec<Pair>, source: &Rc<Node>) {
        match &source.value {
            Value::Map(more) => {
                let known: HashSet<String> = pairs.iter().map(|pair| pair.key.value.clone()).collect();
                pairs.extend(more.iter().filter(|pair| !known.contains(&pair.key.value)).cloned());
            }
            Value::Seq(sources) if sources.iter().all(|node| matches!(node.value, Value::Map(_))) => {
                sources.iter().for_each(|source| self.merge(pairs, source));
            }
            Value::Broken => {}
            _ => {
                let message = format!("merge key `<<` takes a mapping, found {}", source.describe());
                let span = source.span.clone();
                self.includes.report(Diagnostic::error("yaml::bad_merge", message, span, "not a mapping"));
            }
        }
    }
}

impl Frame {
    fn map(open: Open) -> Self {
        Self::Map { pairs: Vec::new(), merges: Vec::new(), key: None, unusable: false, open }
    }

    /// Adds an element, or the value of the key that was read before.
    fn add(&mut self, node: Rc<Node>) {
        match self {
            Self::Seq { items, open } => {
                open.weight = open.weight.with(node.weight);
                items.push(node);
            }
            Self::Map { pairs, merges, key, unusable, open } => {
                open.weight = open.weight.with(node.weight);
                match key.take() {
                    Some(Key::Named(key)) => pairs.push(Pair { key, value: node }),
                    Some(Key::Merge) => merges.push(node),
                    Some(Key::Unusable) | None => *unusable = true,
                }
            }
        }
    }

    fn open(&self) -> &Open {
        match self {
            Self::Seq { open, .. } | Self::Map { open, .. } => open,
        }
    }
}

impl Open {
    fn new(range: &std::ops::Range<usize>, style: StructureStyle, anchor: usize) -> Self {
        let flow = style == StructureStyle::Flow;
        Self { start: range.start, flow, anchor, weight: Weight::collection() }
    }
}

fn key_of(node: &Node, includes: &mut dyn Includes) -> Key {
    match &node.value {
        Value::Scalar(scalar) if scalar.style == Style::Plain && scalar.raw == "<<" => Key::Merge,
        Value::Scalar(scalar) => Key::Named(Spanned::new(scalar.raw.clone(), node.span.clone())),
        Value::Broken => Key::Unusable,
        Value::Seq(_) | Value::Map(_) => {
            let message = format!("a key must be a single word or text, found {}", node.describe());
            let help = "a template such as `{{ name }}` must stand in quotes";
            let finding = Diagnostic::error("yaml::complex_key", message, node.span.clone(), "not a key");
            includes.report(finding.help(help));
            Key::Unusable
        }
    }
}

fn from_parser(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

fn is_file(tag: &Tag) -> bool {
    tag.handle() == "!" && tag.suffix() == "file"
}
