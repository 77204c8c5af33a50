//! Whole templates and conditions against what Python's Jinja2 gives.
