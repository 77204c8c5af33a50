//! Renders the texts of a plan.
//!
//! Each text is rewritten and compiled when it is first used and never again; a text without tags is not compiled at
//! all, and of those that end alike only what begins with the first tag (`tail`), once for all. Errors are led back to
//! the text as it was written: what fails is rendered again as a whole.

use convoke_model::excerpt::clipped;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use minijinja::machinery::parse;
use minijinja::{Environment, Error, ErrorKind, Template, Value};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::cancellation::{Cancellation, Cancelled};
use super::condition::{self, BEFORE, Flattened};
use super::depth;
use super::environment::{environment, syntax};
use super::error::{RenderError, RenderFault};
use super::expression;
use super::is_literal;
use super::limits::{OUTPUT_BYTES, too_large};
use super::partials::{candidates, path_and_root, resolve, template_name};
use super::plain::Plain;
use super::quoted;
use super::rewrite::rewrite;
use super::tail::{self, Tail};

/// A template as written, and the file that it came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TemplateSource {
    /// The text.
    pub text: Arc<str>,
    /// The path of the file that held the text; includes resolve beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Arc<str>>,
}

/// A condition (`when`) as written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConditionSource {
    /// The text.
    pub text: Arc<str>,
}

/// The place of a template in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TemplateId(pub u32);

/// The place of a condition in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConditionId(pub u32);

/// All texts of a plan, ready to be rendered from any thread.
#[derive(Debug)]
pub struct Renderer {
    environment: Environment<'static>,
    cancellation: Cancellation,
    texts: Arc<Texts>,
    templates: Vec<Prepared>,
    conditions: Vec<Box<str>>,
}

/// What rendering needs to know before it looks at a text.
#[derive(Debug)]
struct Prepared {
    name: Box<str>,
    literal: bool,
    has_blocks: bool,
    plain: Option<Plain>,
    tail: Tail,
}

#[derive(Debug)]
struct Texts {
    templates: Vec<TemplateSource>,
    conditions: Vec<ConditionSource>,
    partials: BTreeMap<String, String>,
}

impl Renderer {
    /// A renderer for these texts; `partials` are what includes may reach, by normalised path.
    pub fn new(
        templates: &[TemplateSource],
        conditions: &[ConditionSource],
        partials: &BTreeMap<String, String>,
    ) -> Renderer {
        let prepared = tail::of_all(templates).into_iter().enumerate().map(|(at, tail)| Prepared {
            name: format!("t{at}").into(),
            literal: is_literal(&templates[at].text),
            has_blocks: templates[at].text.contains("{%"),
            plain: Plain::of(&templates[at].text),
            tail,
        });
        let templates_prepared = prepared.collect();
        let condition_names = (0..conditions.len()).map(|at| format!("c{at}").into()).collect();
        let texts = Arc::new(Texts {
            templates: templates.to_vec(),
            conditions: conditions.to_vec(),
            partials: partials.clone(),
        });
        let cancellation = Cancellation::default();
        let mut environment = environment(&cancellation);
        environment.set_loader({
            let texts = texts.clone();
            move |name| texts.compilable(name)
        });
        environment.set_path_join_callback({
            let texts = texts.clone();
            move |name, parent| Cow::Owned(texts.included(name, parent))
        });
        Renderer {
            environment,
            cancellation,
            texts,
            templates: templates_prepared,
            conditions: condition_names,
        }
    }

    /// The flag that ends what this renderer does, for another thread.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Renders a template.
    pub fn render(&self, id: TemplateId, context: Value) -> Result<String, RenderError> {
        let (prepared, source) = self.template(id);
        if prepared.literal {
            return Ok(with_newlines(&source.text));
        }
        if let Some(filled) = self.filled_in(prepared, &context) {
            return Ok(filled);
        }
        let cut = prepared.tail.cut.and_then(|start| {
            let before = with_newlines(&source.text[..start]);
            self.filled(prepared, &prepared.tail.name(), before, context.clone()).ok()
        });
        match cut {
            Some(rendered) => Ok(rendered),
            None => self
                .filled(prepared, &prepared.name, String::new(), context)
                .map_err(|error| self.texts.explain("template", &prepared.name, error)),
        }
    }

    /// The text of a template that only fills in names, all of which are there.
    fn filled_in(&self, prepared: &Prepared, context: &Value) -> Option<String> {
        let plain = prepared.plain.as_ref().filter(|_| self.cancellation.check().is_ok());
        plain.and_then(|plain| plain.fill(context))
    }

    /// What stands before, and what the text of that name comes to.
    fn filled(
        &self,
        prepared: &Prepared,
        name: &str,
        before: String,
        context: Value,
    ) -> Result<String, Error> {
        let template = self.compiled(name)?;
        if !prepared.has_blocks {
            let rendered = template.render(context)?;
            return Ok(if before.is_empty() { rendered } else { before + &rendered });
        }
        // Text between blocks is not metered by the operators, so a loop of it is bounded where it arrives.
        let mut out = Bounded { bytes: before.into_bytes() };
        template.render_captured_to(context, &mut out)?;
        String::from_utf8(out.bytes).map_err(|_| too_large())
    }

    /// The text of that name, ready to be rendered, unless nothing is rendered any more.
    fn compiled(&self, name: &str) -> Result<Template<'_, '_>, Error> {
        self.cancellation.check()?;
        self.environment.get_template(name)
    }

    /// The first template that says the same as this one behind the words before its first tag, and so refers to the
    /// same names.
    pub fn alike(&self, id: TemplateId) -> TemplateId {
        self.template(id).0.tail.first
    }

    /// The names that a template refers to, each with the keys below it, if all that it does is to fill them in.
    pub fn plain_paths(&self, id: TemplateId) -> Option<impl Iterator<Item = &[Box<str>]>> {
        self.template(id).0.plain.as_ref().map(Plain::paths)
    }

    /// The value of a template that is one `{{ expression }}`; of any other its text.
    pub fn value(&self, id: TemplateId, context: Value) -> Result<Value, RenderError> {
        if expression::alone(&self.template(id).1.text).is_none() {
            return self.render(id, context).map(Value::from);
        }
        let name = format!("v{}", id.0);
        let captured = self.compiled(&name).and_then(|t| t.render_captured(context.clone()));
        let captured = captured.map_err(|error| self.texts.explain("template", &name, error))?;
        match expression::value_of(captured.state()) {
            Some(value) => Ok(value),
            // Rendering is what tells a name that is missing from an `if` without `else`.
            None => self.render(id, context).map(|_| Value::from(())),
        }
    }

    /// What a template's text is read as where it is the JSON of a value, if that is known without writing it.
    pub fn read_back(&self, id: TemplateId, context: impl FnOnce() -> Value) -> Option<Json> {
        quoted::quoted(&self.template(id).1.text)?;
        let template = self.compiled(&format!("j{}", id.0)).ok()?;
        let captured = template.render_captured(context()).ok()?;
        quoted::read_back(&expression::value_of(captured.state())?)
    }

    /// Whether a condition holds; its context also answers to the flattened names.
    pub fn test(&self, id: ConditionId, context: Value) -> Result<bool, RenderError> {
        let name = &self.conditions[id.0 as usize];
        let context = Value::from_object(Flattened::new(context, &self.texts.conditions[id.0 as usize].text));
        let rendered = self.compiled(name).and_then(|template| template.render(context));
        rendered.map(|text| !text.is_empty()).map_err(|error| self.texts.explain("condition", name, error))
    }

    fn template(&self, id: TemplateId) -> (&Prepared, &TemplateSource) {
        let at = id.0 as usize;
        (&self.templates[at], &self.texts.templates[at])
    }
}

/// A text under one of the environment's names.
enum Named<'t> {
    Template(&'t TemplateSource),
    Tail(&'t TemplateSource),
    Condition(&'t ConditionSource),
    Expression(&'t TemplateSource),
    Quoted(&'t TemplateSource),
    Partial(&'t str, &'t str),
}

impl Texts {
    fn named(&self, name: &str) -> Option<Named<'_>> {
        if let Some((path, _)) = path_and_root(name) {
            return self.partials.get_key_value(path).map(|(path, text)| Named::Partial(path, text));
        }
        let at: usize = name.get(1..)?.parse().ok()?;
        match name.as_bytes()[0] {
            b't' => self.templates.get(at).map(Named::Template),
            tail::PREFIX => self.templates.get(at).map(Named::Tail),
            b'c' => self.conditions.get(at).map(Named::Condition),
            b'v' => self.templates.get(at).map(Named::Expression),
            b'j' => self.templates.get(at).map(Named::Quoted),
            _ => None,
        }
    }

    /// The text to compile under a name. The check before a run refuses what nests too deeply, but a plan may come from
    /// elsewhere.
    fn compilable(&self, name: &str) -> Result<Option<String>, Error> {
        let text: Cow<'_, str> = match self.named(name) {
            None => return Ok(None),
            Some(Named::Template(source)) => source.text.as_ref().into(),
            Some(Named::Tail(source)) => source.text[tail::start(&source.text)..].into(),
            Some(Named::Partial(_, text)) => text.into(),
            Some(Named::Condition(source)) => condition::template(&source.text).0.into(),
            Some(Named::Expression(source)) => expression::template(&source.text).0.into(),
            Some(Named::Quoted(source)) => return Ok(quoted::quoted(&source.text).map(expression::naming)),
        };
        depth::check(&text, false).map_err(|error| Error::new(ErrorKind::SyntaxError, error.message))?;
        if let Some(Named::Condition(source)) = self.named(name) {
            condition::well_formed(&source.text)?;
        }
        let rewritten = rewrite(&text);
        // Rewriting closes what it opens, and so could make sense of a text that has none.
        if rewritten.text != text {
            parse(&text, name, syntax()).map_err(unplaced)?;
        }
        Ok(Some(rewritten.text))
    }

    /// The name of the partial that `parent` includes as `name`.
    fn included(&self, name: &str, parent: &str) -> String {
        let (containing, root) = match (path_and_root(parent), self.named(parent)) {
            (Some((path, root)), _) => (path, root),
            (
                None,
                Some(Named::Template(TemplateSource { base: Some(base), .. }))
                | Some(Named::Tail(TemplateSource { base: Some(base), .. })),
            ) => (base.as_ref(), base.as_ref()),
            _ => return name.to_owned(),
        };
        match resolve(name, containing, root, &self.partials) {
            Some((path, _)) => template_name(path, root),
            None => candidates(name, containing, root).swap_remove(0),
        }
    }

    /// Makes an error that speaks of the text as it was written.
    fn explain(&self, what: &'static str, name: &str, error: Error) -> RenderError {
        let error = innermost(&error);
        let named = self.named(error.name().unwrap_or(name));
        let (written, rewritten, shift, file) = match named {
            Some(Named::Condition(source)) => {
                let (template, start) = condition::template(&source.text);
                (source.text.as_ref(), rewrite(&template), BEFORE.len() as isize - start as isize, None)
            }
            Some(Named::Expression(source)) => {
                let (template, start) = expression::template(&source.text);
                let shift = expression::BEFORE.len() as isize - start as isize;
                (source.text.as_ref(), rewrite(&template), shift, None)
            }
            Some(Named::Partial(path, text)) => (text, rewrite(text), 0, Some(path.to_owned())),
            // What fails in another guise is rendered again as a whole, so only that is asked about.
            Some(Named::Template(source) | Named::Tail(source) | Named::Quoted(source)) => {
                (source.text.as_ref(), rewrite(&source.text), 0, None)
            }
            None => ("", rewrite(""), 0, None),
        };
        let range = error.range().map(|range| rewritten.original(range)).map(|range| {
            let back = |offset: usize| offset.saturating_add_signed(-shift).min(written.len());
            back(range.start)..back(range.end)
        });
        let expression = match what {
            "condition" => written.trim(),
            _ => tag_around(written, range.clone()),
        };
        RenderError {
            what,
            message: message(error),
            expression: shortened(expression),
            file,
            range,
            fault: fault(error),
        }
    }
}

/// An error about a text before it was rewritten. Places are led back from the rewritten text, so this one has none.
pub(super) fn unplaced(error: Error) -> Error {
    let why = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Error::new(error.kind(), why)
}

/// A text as it is, with the line ends that templates have.
pub(super) fn with_newlines(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

/// Errors inside includes and blocks come wrapped; the one inside says what happened.
fn innermost(error: &Error) -> &Error {
    let mut inner = error;
    while let Some(cause) = inner.source().and_then(|cause| cause.downcast_ref::<Error>()) {
        inner = cause;
    }
    inner
}

fn message(error: &Error) -> String {
    let detail = error.detail().map(|detail| detail.replace('`', "'"));
    match (error.kind(), detail) {
        (ErrorKind::UndefinedError, Some(detail)) => detail,
        (ErrorKind::UndefinedError, None) => "a value is undefined".to_owned(),
        (ErrorKind::OutOfFuel, None) => "it runs too long".to_owned(),
        (ErrorKind::SyntaxError, Some(detail)) => format!("syntax error: {detail}"),
        (_, Some(detail)) => detail,
        (kind, None) => kind.to_string(),
    }
}

fn fault(error: &Error) -> RenderFault {
    match error.kind() {
        _ if error.source().is_some_and(|source| source.is::<Cancelled>()) => RenderFault::Cancelled,
        ErrorKind::UndefinedError => RenderFault::Undefined,
        ErrorKind::OutOfFuel | ErrorKind::WriteFailure => RenderFault::Limit,
        ErrorKind::SyntaxError | ErrorKind::UnknownFilter | ErrorKind::UnknownTest => RenderFault::Syntax,
        _ if error.detail().is_some_and(|detail| detail.contains("recursion limit")) => RenderFault::Limit,
        _ => RenderFault::Other,
    }
}

/// The tag that a range lies in, or the whole text.
fn tag_around(text: &str, range: Option<Range<usize>>) -> &str {
    let Some(range) = range.filter(|range| text.is_char_boundary(range.start)) else { return text };
    let opens = |open: &str| text[..range.start].rfind(open);
    let Some(start) = opens("{{").max(opens("{%")) else { return text };
    let closes = |close: &str| text[start..].find(close).map(|at| start + at + close.len());
    let end = if text[start..].starts_with("{{") { closes("}}") } else { closes("%}") };
    &text[start..end.unwrap_or(text.len())]
}

/// Long tags are cut: the range says where to look.
fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    clipped(text, MOST)
}

/// Takes bytes up to a bound.
struct Bounded {
    bytes: Vec<u8>,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > OUTPUT_BYTES {
            return Err(io::Error::other(format!("more than {} MiB", OUTPUT_BYTES >> 20)));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
