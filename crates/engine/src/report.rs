//! What a run came to, for people: a fold over its events.
