//! The only driver: turns decisions into effects and effects into events.
