//! Puts a journal together from the pages of its files where the database does not read them as one any more.
//!
//! SQLite reads a log up to the first frame that is not what was written, and forgets what follows. Here the frames behind that one
//! count too, and so does the page of a frame whose sum does not fit: what of it is true, the chain of hashes says, not the log. The first page of
//! the file says the same in every journal, so it can be had from an empty one. Writes only the file that it is told to.

use super::schema;
use crate::disk;
use crate::state::private_file;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is in front of the frames of a log, and of the page of each.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The pages of all journals have this size.
const PAGE: usize = 4096;

/// Where the header of a database has its size in pages, and for which count of changes that is so.
const CHANGES: std::ops::Range<usize> = 24..28;
const PAGES: std::ops::Range<usize> = 28..32;
const SIZED_AT: std::ops::Range<usize> = 92..96;

/// How the pages are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// Whether pages count whose frame in the log is damaged.
    pub damaged_frames: bool,
    /// Whether the first page is that of an empty journal.
    pub new_first_page: bool,
}

impl Way {
    /// From the one that believes most of what is there.
    pub const ALL: [Way; 4] = [
        Way { damaged_frames: false, new_first_page: false },
        Way { damaged_frames: true, new_first_page: false },
        Way { damaged_frames: false, new_first_page: true },
        Way { damaged_frames: true, new_first_page: true },
    ];
}

/// Makes a database without a log of the files of a journal in `from`.
pub(super) fn put_together(from: &Path, to: &Path, way: Way) -> io::Result<()> {
    fs::remove_file(to).ok();
    let file = private_file(to).map_err(io::Error::other)?;
    let mut database = File::open(from.join("journal.db"))?;
    io::copy(&mut database, &mut &file)?;
    let log = fs::read(from.join("journal.db-wal")).unwrap_or_default();
    let mut pages = file.metadata()?.len() / PAGE as u64;
    let mut frames = frames(&log);
    frames.retain(|frame| frame.is_sound || way.damaged_frames);
    // What was not committed was not written.
    let last = frames.iter().rposition(|frame| frame.commits > 0);
    frames.truncate(last.map_or(0, |last| last + 1));
    // No page lies further behind than all pages that there are: a number that is damaged makes no giant.
    let most = pages + frames.len() as u64;
    for frame in frames.iter().filter(|frame| (1..=most).contains(&frame.page)) {
        disk::write_at(&file, to, frame.body, (frame.page - 1) * PAGE as u64)?;
    }
    pages = frames.last().map_or(pages, |frame| frame.commits).min(most);
    file.set_len(pages * PAGE as u64)?;
    write_first_page(&file, to, pages, way.new_first_page)
}

fn write_first_page(file: &File, path: &Path, pages: u64, is_new: bool) -> io::Result<()> {
    let mut first = vec![0; PAGE];
    match is_new {
        true => first.copy_from_slice(&schema::EMPTY[..PAGE]),
        false => file.read_exact_at(&mut first, 0)?,
    }
    schema::without_log(&mut first);
    first[PAGES].copy_from_slice(&(pages as u32).to_be_bytes());
    first.copy_within(CHANGES, SIZED_AT.start);
    disk::write_at(file, path, &first, 0)
}

/// A page as a log has it.
struct Frame<'a> {
    page: u64,
    /// How many pages the database has after the commit that it ends; 0 if it ends none.
    commits: u64,
    body: &'a [u8],
    is_sound: bool,
}

/// The frames that belong to the log's last use. Those of an earlier one stand behind them, under another salt.
fn frames(log: &[u8]) -> Vec<Frame<'_>> {
    let whole = log.get(LOG_HEADER..).unwrap_or_default().chunks_exact(FRAME_HEADER + PAGE);
    let Some(salt) = salt(log, whole.clone()) else { return Vec::new() };
    let mut before = vec![sum_at(&log[24..32])];
    let mut found = Vec::new();
    for frame in whole {
        let (header, body) = frame.split_at(FRAME_HEADER);
        let stored = sum_at(&header[16..24]);
        let summed = |seed: &Sum| summed(summed(*seed, &header[..8]), body);
        let is_sound = before.iter().any(|seed| summed(seed) == stored);
        if !is_sound && header[8..16] != *salt {
            before.clear();
            continue;
        }
        before = before.iter().map(summed).chain([stored]).collect();
        before.dedup();
        before.truncate(2);
        let number = |at: usize| u64::from(u32::from_be_bytes([0, 1, 2, 3].map(|n| header[at + n])));
        found.push(Frame { page: number(0), commits: number(4), body, is_sound });
    }
    found
}

/// What marks the frames of the last use: the header says so, unless it is damaged and no frame agrees.
fn salt<'a>(log: &'a [u8], mut frames: std::slice::ChunksExact<'a, u8>) -> Option<&'a [u8]> {
    let (told, first) = (log.get(16..24)?, frames.clone().next()?);
    Some(if frames.any(|frame| frame[8..16] == *told) { told } else { &first[8..16] })
}

type Sum = (u32, u32);

fn sum_at(bytes: &[u8]) -> Sum {
    let number = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
    (number(0), number(4))
}

/// SQLite's sum over pairs of numbers in the order of bytes of this machine, which wrote the log.
fn summed((mut first, mut second): Sum, bytes: &[u8]) -> Sum {
    for pair in bytes.chunks_exact(8) {
        let number = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|n| pair[at + n]));
        first = first.wrapping_add(number(0)).wrapping_add(second);
        second = second.wrapping_add(number(4)).wrapping_add(first);
    }
    (first, second)
}
