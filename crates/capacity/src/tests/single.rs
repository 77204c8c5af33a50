//! One process, or several handles in one.
