//! Plan and events in, commands out: readiness, routes, joins, retries, cancellation.
