//! What is around the content of an export: its kind, its format, its length, and a hash of all of it.
//!
//! ```text
//! 16 bytes   "convoke export\n\0"
//!  4 bytes   format, little-endian
//!  8 bytes   length of the content, little-endian
//!  …         the content, compressed (zstd)
//! 32 bytes   BLAKE3 of everything before
//! ```
//!
//! Kept true: no byte is decompressed before the hash was found to fit, and never more bytes than were announced. Any single change
//! and any cut is noticed. What the content means is `content`'s.

use crate::Error;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"convoke export\n\0";
/// The format of this version.
pub(super) const FORMAT: u32 = 1;
const HEAD: usize = 16 + 4 + 8;
const HASH: u64 = 32;
const LEVEL: i32 = 6;

/// Content is at most so many times as long as it is compressed, and a megabyte: a journal does not shrink further.
const RATIO: u64 = 1_000;

/// Writes an export with this content; answers with its length.
pub(super) fn pack(content: &Path, out: &mut dyn Write) -> Result<u64, Error> {
    let file = File::open(content).map_err(Error::io("open", content))?;
    let length = file.metadata().map_err(Error::io("inspect", content))?.len();
    let written = || {
        let mut out = Hashing { out, hasher: blake3::Hasher::new(), length: 0 };
        out.write_all(MAGIC)?;
        out.write_all(&FORMAT.to_le_bytes())?;
        out.write_all(&length.to_le_bytes())?;
        let mut encoder = zstd::stream::write::Encoder::new(&mut out, LEVEL)?;
        io::copy(&mut BufReader::new(file), &mut encoder)?;
        encoder.finish()?;
        let hash = out.hasher.finalize();
        out.out.write_all(hash.as_bytes())?;
        out.out.flush()?;
        Ok(out.length + HASH)
    };
    written().map_err(Error::io("write the export of", content))
}

/// Takes the content out of an export that is whole. `shown` is the name that people know it by.
pub(super) fn unpack(export: &Path, shown: &Path, content: &Path) -> Result<(), Error> {
    let refuse = |why: &str| Error::Archive { path: shown.to_owned(), why: why.to_owned() };
    let fail = |error| Error::io("read", shown)(error);
    let mut file = File::open(export).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let mut head = [0; HEAD];
    let read = file.read_exact(&mut head);
    if read.is_err() || head[..16] != MAGIC[..] {
        return Err(refuse("it is no export of convoke"));
    }
    let format = u32::from_le_bytes(head[16..20].try_into().expect("four bytes"));
    if format > FORMAT {
        let (found, known) = (i64::from(format), i64::from(FORMAT));
        return Err(Error::Newer { path: shown.to_owned(), found, known });
    }
    let length = u64::from_le_bytes(head[20..28].try_into().expect("eight bytes"));
    let Some(packed) = size.checked_sub(HEAD as u64 + HASH) else {
        return Err(refuse("it is cut off"));
    };
    if hash_of(&mut file, size - HASH).map_err(fail)? != hash_at_end(&mut file).map_err(fail)? {
        return Err(refuse("it was changed or cut off: its hash does not fit"));
    }
    if format == 0 || length > packed.saturating_mul(RATIO).saturating_add(1 << 20) {
        return Err(refuse("the length that it announces cannot be"));
    }
    file.seek(SeekFrom::Start(HEAD as u64)).map_err(fail)?;
    let decoder = zstd::stream::read::Decoder::new(file.take(packed)).map_err(fail)?;
    let out = File::create_new(content).map_err(Error::io("make", content))?;
    let mut out = BufWriter::new(out);
    // One byte more than announced would show that there are more.
    let copied = match io::copy(&mut decoder.take(length.saturating_add(1)), &mut out) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            return Err(Error::io("write", content)(error));
        }
        copied => copied.and_then(|copied| out.flush().map(|()| copied)),
    };
    match copied {
        Ok(copied) if copied == length => Ok(()),
        _ => Err(refuse("its content is not what it announces")),
    }
}

fn hash_of(file: &mut File, length: u64) -> io::Result<[u8; 32]> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut BufReader::new(file.take(length)), &mut hasher)?;
    Ok(*hasher.finalize().as_bytes())
}

fn hash_at_end(file: &mut File) -> io::Result<[u8; 32]> {
    file.seek(SeekFrom::End(-(HASH as i64)))?;
    let mut hash = [0; 32];
    file.read_exact(&mut hash)?;
    Ok(hash)
}

/// Passes bytes on and hashes them.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
    length: u64,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
