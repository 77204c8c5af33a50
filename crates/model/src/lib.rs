//! The words that every part of Convoke shares: ids, events, payloads, failures, usage, assignments.
