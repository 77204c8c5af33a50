//! What one rendering may use: instructions, bytes, depth.
//!
//! Minijinja counts instructions (fuel) and depth. Bytes are ours: every operator, filter and method that builds text or
//! lists pays here before it builds, so that doubling a string in a loop ends with an error and not with the process.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// Instructions of one rendering; a loop of 200 000 short rounds fits.
pub(super) const FUEL: u64 = 4_000_000;
/// Nesting of macros, includes and loops.
pub(super) const DEPTH: usize = 400;
/// Bytes that a rendering may give.
pub(super) const OUTPUT_BYTES: usize = 64 << 20;
/// Bytes that a rendering may build on its way, intermediate texts and lists included.
const WORK_BYTES: usize = 512 << 20;
/// Items of `range` and of a repeated list.
pub(super) const ITEMS: usize = 1_000_000;
/// What one item of a list is reckoned to weigh.
const ITEM_BYTES: usize = 24;

/// The bytes left to one rendering.
struct Meter {
    left: usize,
}

/// Pays for `bytes` that are about to be built.
pub(super) fn charge(state: &mut State, bytes: usize) -> Result<(), Error> {
    let meter = state.get_or_insert_extension_with(|| Meter { left: WORK_BYTES });
    match meter.left.checked_sub(bytes) {
        Some(left) if bytes <= OUTPUT_BYTES => {
            meter.left = left;
            Ok(())
        }
        _ => Err(too_large()),
    }
}

/// Pays for a list of `items`.
pub(super) fn charge_items(state: &mut State, items: usize) -> Result<(), Error> {
    charge(state, items.saturating_mul(ITEM_BYTES))
}

/// The error of whoever asks for more than there is.
pub(super) fn too_large() -> Error {
    Error::new(ErrorKind::OutOfFuel, format!("the template builds more than {} MiB", OUTPUT_BYTES >> 20))
}

/// How deep lists and maps may nest: values are shown, compared and freed by recursion.
const NESTING: usize = 200;

/// Refuses a value that nests too deeply, before a loop can wrap it once more.
pub(super) fn shallow(state: &mut State, value: &Value) -> Result<(), Error> {
    let mut seen = 0;
    let fits = nests_within(value, NESTING, &mut seen);
    charge_items(state, seen)?;
    if fits { Ok(()) } else { Err(Error::new(ErrorKind::OutOfFuel, "lists and maps nest too deeply")) }
}

fn nests_within(value: &Value, levels: usize, seen: &mut usize) -> bool {
    *seen += 1;
    let container = matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable);
    let Some(object) = value.as_object().filter(|_| container) else { return true };
    if levels == 0 {
        return false;
    }
    let pairs = object.try_iter_pairs().into_iter().flatten();
    pairs.into_iter().all(|(_, item)| nests_within(&item, levels - 1, seen))
}
