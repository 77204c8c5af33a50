//! What every step and every group has.

use indexmap::IndexMap;

use super::super::workflow::Common;
use super::Reader;
use super::fields::Fields;
use super::{asked, budget, flow};

/// Reads the keys of steps that every type shares.
pub(super) fn of_step(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Common {
    Common {
        input: fields.names(cx, "input").unwrap_or_default(),
        expects: asked::expects(cx, fields),
        repair_input: asked::repair_input(cx, fields),
        retry: flow::retry(cx, fields),
        on_unknown: fields.choice(cx, "on_unknown"),
        idempotent: fields.boolean(cx, "idempotent"),
        resources: budget::resources(cx, fields),
        ..of_group(cx, fields)
    }
}

/// Reads the keys that steps and groups share.
pub(super) fn of_group(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Common {
    Common {
        description: fields.text(cx, "description"),
        input: Vec::new(),
        expects: IndexMap::new(),
        repair_input: None,
        routes_key: fields.place_of("routes").cloned(),
        routes: flow::routes(cx, fields),
        needs: flow::needs(cx, fields),
        join: flow::join(cx, fields),
        on_error: flow::on_error(cx, fields),
        retry: None,
        timeout: fields.duration(cx, "timeout"),
        max_wait: fields.duration(cx, "max_wait"),
        on_unknown: None,
        idempotent: None,
        labels: flow::labels(cx, fields),
        budget: budget::budget(cx, fields),
        resources: IndexMap::new(),
        span: fields.span.clone(),
    }
}
