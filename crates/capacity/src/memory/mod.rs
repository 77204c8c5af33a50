//! The mapped file: its layout, its growth, its locks, and what the kernel does for them.

pub(crate) mod bytes;
pub(crate) mod cells;
pub(crate) mod extents;
pub(crate) mod futex;
pub(crate) mod guard;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod lock_word;
pub(crate) mod mapping;
