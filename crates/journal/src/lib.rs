//! Append, replay, blobs, ownership, inbox and the index of runs.
