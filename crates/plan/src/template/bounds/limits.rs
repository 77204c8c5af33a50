//! What one rendering may use: instructions, bytes, depth.
//!
//! Minijinja counts instructions (fuel) and depth. Bytes are ours: every operator, filter, test and method pays for what
//! it reads (`Cost`) at the one place where it is registered, and for what it builds before it builds. So doubling a
//! string in a loop, or reading four megabytes in each of its rounds, ends with an error and not with the process. Each
//! payment also checks whether the rendering was cancelled.
//!
//! Invariant: the time of one call is at most proportional to what it pays (times a logarithm for sorting).

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::super::cancellation::Cancellation;

/// Instructions of one rendering; a loop of 200 000 short rounds fits.
pub(in crate::template) const FUEL: u64 = 4_000_000;
/// Nesting of macros, includes and loops.
pub(in crate::template) const DEPTH: usize = 400;
/// Bytes that a rendering may give.
pub(in crate::template) const OUTPUT_BYTES: usize = 64 << 20;
/// Bytes that a rendering may read and build on its way, intermediate texts and lists included.
///
/// Tests are built without optimisation and get an eighth.
const WORK_BYTES: usize = if cfg!(test) { 128 << 20 } else { 1 << 30 };
/// Items of `range` and of a repeated list.
pub(in crate::template) const ITEMS: usize = 1_000_000;
/// What one item of a list is reckoned to weigh.
const ITEM_BYTES: usize = 48;
/// What a call costs beside what it reads.
const CALL_BYTES: usize = 256;

/// What one call may read: what it makes of that is in memory before it can be weighed.
const CALL_MOST: usize = WORK_BYTES / 4;

/// What a filter, a test or a method looks at, and so what one call of it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum Cost {
    /// Only a fixed part of its arguments.
    Fixed,
    /// The characters of a text, or each item of a list without looking into it.
    Items,
    /// Everything, however deeply it nests.
    Whole,
    /// Everything, as often as sorting compares.
    Sorted,
}

/// The bytes left to one rendering, and the flag that ends it before they are used up.
struct Meter {
    left: usize,
    cancellation: Option<Cancellation>,
}

/// Pays for `bytes` that are about to be built.
pub(in crate::template) fn charge(state: &mut State, bytes: usize) -> Result<(), Error> {
    if bytes > OUTPUT_BYTES { Err(too_large()) } else { pay(state, bytes) }
}

/// Pays for one call with these arguments.
pub(in crate::template) fn charge_call(state: &mut State, cost: Cost, args: &[Value]) -> Result<(), Error> {
    let most = left(state).min(CALL_MOST);
    let read = args.iter().try_fold(CALL_BYTES, |sum, value| {
        let weight = match cost {
            Cost::Fixed => 0,
            Cost::Items => top_weight(value),
            Cost::Whole | Cost::Sorted => whole_weight(value, most.saturating_sub(sum))?,
        };
        Some(sum.saturating_add(weight))
    });
    let rounds = match (cost, args.first().and_then(Value::len)) {
        (Cost::Sorted, Some(items)) => items.max(2).ilog2() as usize,
        _ => 1,
    };
    pay(state, read.ok_or_else(too_much)?.saturating_mul(rounds))
}

/// Pays for `bytes` that are about to be read, beyond what the call itself has paid for.
pub(in crate::template) fn charge_read(state: &mut State, bytes: usize) -> Result<(), Error> {
    pay(state, bytes)
}

fn left(state: &mut State) -> usize {
    meter(state).left
}

fn meter<'s>(state: &'s mut State) -> &'s mut Meter {
    let is_new = state.get_extension::<Meter>().is_none();
    let cancellation = if is_new { Cancellation::of(state) } else { None };
    state.get_or_insert_extension_with(|| Meter { left: WORK_BYTES, cancellation })
}

fn pay(state: &mut State, bytes: usize) -> Result<(), Error> {
    let meter = meter(state);
    meter.cancellation.as_ref().map_or(Ok(()), Cancellation::check)?;
    meter.left = meter.left.checked_sub(bytes).ok_or_else(too_much)?;
    Ok(())
}

/// The weight of a text, or of the places of a list or a map.
fn top_weight(value: &Value) -> usize {
    match (value.as_str(), container(value)) {
        (Some(text), _) => text.len(),
        (None, true) => value.len().unwrap_or(0).saturating_mul(ITEM_BYTES),
        _ => ITEM_BYTES,
    }
}

/// The weight of a value with all that it holds; `None` if that is more than `most`.
///
/// What is held twice counts twice: a reader of the value reads it twice.
fn whole_weight(value: &Value, most: usize) -> Option<usize> {
    let mut sum = 0;
    add_weight(value, &mut sum, most, WEIGHED_LEVELS).then_some(sum)
}

/// The weight of a value, or `most` if that is less.
pub(in crate::template) fn weight_within(value: &Value, most: usize) -> usize {
    whole_weight(value, most).unwrap_or(most)
}

/// Deeper than this nothing is shown or compared.
const WEIGHED_LEVELS: usize = 300;

fn add_weight(value: &Value, sum: &mut usize, most: usize, levels: usize) -> bool {
    *sum = sum.saturating_add(value.as_str().map_or(ITEM_BYTES, |text| text.len() + ITEM_BYTES));
    if *sum > most {
        return false;
    }
    let Some(object) = value.as_object().filter(|_| levels > 0 && container(value)) else { return true };
    let mut pairs = object.try_iter_pairs().into_iter().flatten();
    let keys = value.kind() == ValueKind::Map;
    pairs.all(|(key, item)| {
        (!keys || add_weight(&key, sum, most, levels - 1)) && add_weight(&item, sum, most, levels - 1)
    })
}

fn container(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable)
}

/// Pays for a list of `items`.
pub(in crate::template) fn charge_items(state: &mut State, items: usize) -> Result<(), Error> {
    charge(state, items.saturating_mul(ITEM_BYTES))
}

/// The error of a template that asks for more than there is.
pub(in crate::template) fn too_large() -> Error {
    Error::new(ErrorKind::OutOfFuel, format!("the template builds more than {} MiB", OUTPUT_BYTES >> 20))
}

/// The error of a template that reads more than one rendering may.
fn too_much() -> Error {
    Error::new(
        ErrorKind::OutOfFuel,
        format!("the template reads and builds more than {} MiB", WORK_BYTES >> 20),
    )
}

/// How deep lists and maps may nest: values are shown, compared and freed by recursion.
const NESTING: usize = 200;

/// Refuses a value that nests too deeply, before a loop can wrap it once more.
pub(in crate::template) fn shallow(state: &mut State, value: &Value) -> Result<(), Error> {
    // A value that holds another twice, which holds another twice … is small in memory and endless to walk.
    let most = left(state) / ITEM_BYTES;
    let mut seen = 0;
    let nests = nests_within(value, NESTING, most, &mut seen);
    pay(state, seen.saturating_mul(ITEM_BYTES))?;
    match nests {
        Nests::Within => Ok(()),
        Nests::Deeper => Err(Error::new(ErrorKind::OutOfFuel, "lists and maps nest too deeply")),
        Nests::Larger => Err(too_much()),
    }
}

/// What a look at the levels of a value came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nests {
    Within,
    Deeper,
    Larger,
}

fn nests_within(value: &Value, levels: usize, most: usize, seen: &mut usize) -> Nests {
    *seen += 1;
    if *seen > most {
        return Nests::Larger;
    }
    let Some(object) = value.as_object().filter(|_| container(value)) else { return Nests::Within };
    if levels == 0 {
        return Nests::Deeper;
    }
    let pairs = object.try_iter_pairs().into_iter().flatten();
    let nests = pairs.into_iter().map(|(_, item)| nests_within(&item, levels - 1, most, seen));
    nests.into_iter().find(|nests| *nests != Nests::Within).unwrap_or(Nests::Within)
}
