//! Command execution: process groups, bounded output, clean ends.
