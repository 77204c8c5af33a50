//! A simulated world for tests: clock, executor, journal, faults.
