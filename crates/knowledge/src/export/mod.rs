//! The graph of a run in the formats of others.

mod crate_;

pub use crate_::{CrateFile, RunCrate, metadata};

use crate::vocab::PREFIXES;
use oxjsonld::JsonLdSerializer;
use oxrdf::{Quad, Triple};
use oxttl::{NQuadsSerializer, TurtleSerializer};
use std::io;

/// Triples as Turtle, with the prefixes that we know.
pub fn turtle(triples: &[Triple]) -> io::Result<String> {
    let mut serializer = TurtleSerializer::new();
    for (prefix, space) in PREFIXES {
        serializer = serializer.with_prefix(prefix, space).map_err(io::Error::other)?;
    }
    let mut writer = serializer.for_writer(Vec::new());
    for triple in triples {
        writer.serialize_triple(triple)?;
    }
    text(writer.finish()?)
}

/// Quads, one a line.
pub fn nquads(quads: &[Quad]) -> io::Result<String> {
    let mut writer = NQuadsSerializer::new().for_writer(Vec::new());
    for quad in quads {
        writer.serialize_quad(quad)?;
    }
    text(writer.finish())
}

/// Quads as JSON-LD, with a context of its own.
pub fn json_ld(quads: &[Quad]) -> io::Result<String> {
    let mut serializer = JsonLdSerializer::new();
    for (prefix, space) in PREFIXES {
        serializer = serializer.with_prefix(prefix, space).map_err(io::Error::other)?;
    }
    let mut writer = serializer.for_writer(Vec::new());
    for quad in quads {
        writer.serialize_quad(quad)?;
    }
    text(writer.finish()?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(io::Error::other)
}
