//! One file per model service, and a scripted one.
