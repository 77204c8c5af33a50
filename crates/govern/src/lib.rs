//! May this start now? Slots, classes, priorities; pure.
