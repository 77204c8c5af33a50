//! Jinja2's filters, with Jinja2's meaning.
//!
//! One table names them all; each takes its arguments by place or by name as in Python (`arguments::bind`), and refuses
//! undefined values unless it exists for them (`default`).

mod data;
mod html;
mod number;
mod order;
mod select;
mod sequence;
mod text;
mod wrap;

use minijinja::value::{Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, State};

pub(super) use html::escape_text;

/// A filter: the value and the arguments, keyword arguments last.
type Filter = fn(&mut State, &[Value]) -> Result<Value, Error>;

/// Filters under the names that templates use.
pub(super) const FILTERS: &[(&str, Filter)] = &[
    ("abs", number::abs),
    ("attr", select::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", data::jinja_default),
    ("default", data::default),
    ("dictsort", order::dictsort),
    ("e", html::escape),
    ("escape", html::escape),
    ("filesizeformat", number::file_size),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", html::force_escape),
    ("format", text::format),
    ("groupby", order::group_by),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items_of),
    ("join", sequence::join),
    ("json", data::json),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", select::map),
    ("max", order::max),
    ("min", order::min),
    ("pprint", data::pretty),
    ("random", sequence::random),
    ("reject", select::reject),
    ("rejectattr", select::reject_attribute),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", html::safe),
    ("select", select::select),
    ("selectattr", select::select_attribute),
    ("slice", sequence::slice),
    ("sort", order::sort),
    ("string", text::string),
    ("striptags", html::strip_tags),
    ("sum", number::sum),
    ("title", text::title),
    ("tojson", data::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", order::unique),
    ("upper", text::upper),
    ("urlencode", html::url_encode),
    ("urlize", html::urlize),
    ("wordcount", text::word_count),
    ("wordwrap", wrap::word_wrap),
    ("xmlattr", html::xml_attributes),
];

/// Filters that only our own functions call (Python's `int`, `min`, `sorted` …).
const HIDDEN: &[(&str, Filter)] = &[
    ("__int", number::python_int),
    ("__float", number::python_float),
    ("__bool", number::python_bool),
    ("__round", number::python_round),
    ("__min", order::python_min),
    ("__max", order::python_max),
    ("__sorted", order::python_sorted),
];

/// Registers all filters.
pub(super) fn register(environment: &mut Environment<'_>) {
    for &(name, filter) in FILTERS.iter().chain(HIDDEN) {
        environment.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            filter(state, &args.into_values())
        });
    }
}
