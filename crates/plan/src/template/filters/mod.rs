//! Jinja2's filters, with Jinja2's meaning.
//!
//! One table names them all; each takes its arguments by place or by name as in Python (`arguments::bind`), and refuses
//! undefined values unless it exists for them (`default`).
//!
//! Each names its cost, which is paid before it is called. A filter whose time is not proportional to its cost is a defect:
//! `tests/limits.rs` measures all of them, and `examples/filter_seconds.rs` prints the table.

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

use super::limits::{Cost, charge_call};

pub(super) use html::escape_text;

/// A filter: the value and the arguments, keyword arguments last.
type Filter = fn(&mut State, &[Value]) -> Result<Value, Error>;

/// Filters under the names that templates use, and what one call of each costs.
pub(super) const FILTERS: &[(&str, Cost, Filter)] = &[
    ("abs", Cost::Fixed, number::abs),
    ("attr", Cost::Fixed, select::attr),
    ("batch", Cost::Items, sequence::batch),
    ("capitalize", Cost::Whole, text::capitalize),
    ("center", Cost::Whole, text::center),
    ("count", Cost::Fixed, sequence::length),
    ("d", Cost::Fixed, data::jinja_default),
    ("default", Cost::Fixed, data::default),
    ("dictsort", Cost::Sorted, order::dictsort),
    ("e", Cost::Whole, html::escape),
    ("escape", Cost::Whole, html::escape),
    ("filesizeformat", Cost::Items, number::file_size),
    ("first", Cost::Fixed, sequence::first),
    ("float", Cost::Items, number::float),
    ("forceescape", Cost::Whole, html::force_escape),
    ("format", Cost::Whole, text::format),
    ("groupby", Cost::Sorted, order::group_by),
    ("indent", Cost::Whole, text::indent),
    ("int", Cost::Items, number::int),
    ("items", Cost::Items, sequence::items_of),
    ("join", Cost::Whole, sequence::join),
    ("json", Cost::Whole, data::json),
    ("last", Cost::Fixed, sequence::last),
    ("length", Cost::Fixed, sequence::length),
    ("list", Cost::Items, sequence::list),
    ("lower", Cost::Whole, text::lower),
    ("map", Cost::Items, select::map),
    ("max", Cost::Whole, order::max),
    ("min", Cost::Whole, order::min),
    ("pprint", Cost::Whole, data::pretty),
    ("random", Cost::Whole, sequence::random),
    ("reject", Cost::Items, select::reject),
    ("rejectattr", Cost::Items, select::reject_attribute),
    ("replace", Cost::Whole, text::replace),
    ("reverse", Cost::Items, sequence::reverse),
    ("round", Cost::Items, number::round),
    ("safe", Cost::Whole, html::safe),
    ("select", Cost::Items, select::select),
    ("selectattr", Cost::Items, select::select_attribute),
    ("slice", Cost::Items, sequence::slice),
    ("sort", Cost::Sorted, order::sort),
    ("string", Cost::Whole, text::string),
    ("striptags", Cost::Whole, html::strip_tags),
    ("sum", Cost::Items, number::sum),
    ("title", Cost::Whole, text::title),
    ("tojson", Cost::Whole, data::tojson),
    ("trim", Cost::Whole, text::trim),
    ("truncate", Cost::Fixed, text::truncate),
    ("unique", Cost::Sorted, order::unique),
    ("upper", Cost::Whole, text::upper),
    ("urlencode", Cost::Whole, html::url_encode),
    ("urlize", Cost::Whole, html::urlize),
    ("wordcount", Cost::Whole, text::word_count),
    ("wordwrap", Cost::Whole, wrap::word_wrap),
    ("xmlattr", Cost::Whole, html::xml_attributes),
];

/// The names that templates use, in the order of the alphabet.
pub const NAMES: &[&str] = &{
    let mut names = [""; FILTERS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = FILTERS[at].0;
        at += 1;
    }
    names
};

/// Filters that only our own functions call (Python's `int`, `min`, `sorted` …).
const HIDDEN: &[(&str, Cost, Filter)] = &[
    ("__int", Cost::Items, number::python_int),
    ("__float", Cost::Items, number::python_float),
    ("__bool", Cost::Items, number::python_bool),
    ("__round", Cost::Items, number::python_round),
    ("__min", Cost::Whole, order::python_min),
    ("__max", Cost::Whole, order::python_max),
    ("__sorted", Cost::Sorted, order::python_sorted),
];

/// Registers all filters.
pub(super) fn register(environment: &mut Environment<'_>) {
    for &(name, cost, filter) in FILTERS.iter().chain(HIDDEN) {
        environment.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_call(state, cost, &args)?;
            filter(state, &args)
        });
    }
}
