//! Every front-end becomes one plan: source text, templates, expressions, checks, compilation.
