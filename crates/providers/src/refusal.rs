//! Finds the optional parameter that a service refuses.
//!
//! Pure. Whether the request is sent again without it is the driver's decision, and so is remembering it. The names are the
//! protocol's, and so is the meaning of leaving one out.

use crate::fault::Fault;

/// A parameter that can be left out: the word by which a service complains about it, and our name for it.
pub type Optional = (&'static str, &'static str);

/// The first of these parameters that a fault names, of those that were not left out.
pub fn refused(fault: &Fault, optional: &[Optional], left_out: &[&str]) -> Option<&'static str> {
    let named = |(word, name): &&Optional| !left_out.contains(name) && fault.is_about(word);
    optional.iter().find(named).filter(|_| fault.is_bad_request()).map(|(_, name)| *name)
}
