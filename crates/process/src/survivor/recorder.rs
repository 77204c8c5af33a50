//! The supervisor's half: takes what a command writes, and records how it ended.
//!
//! Runs in a copy of the engine between fork and exec, so there are system calls here and nothing else: no lock, no allocation.

use super::record::{HEADER, Recorded};
use convoke_failpoint::failpoint;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use std::{io, mem, ptr};

/// Read at once.
const PIECE: usize = 32 * 1024;

/// Pieces that are taken of one stream before signals are looked at again.
const PIECES: usize = 32;

/// What the engine prepares for a supervisor that records. Dropped, the engine's own descriptors are closed.
pub struct Recording {
    folder: File,
    lock: File,
    streams: [File; 2],
    half: u64,
    limit: Duration,
}

impl Recording {
    /// Into these files, half of the kept bytes of a stream from its beginning; the command may run for so long.
    pub(super) fn new(folder: File, lock: File, streams: [File; 2], half: u64, limit: Duration) -> Recording {
        Recording { folder, lock, streams, half, limit }
    }

    /// Says that the command is about to start, once and for all, and connects its streams. Gives the ends that it writes to.
    ///
    /// # Safety
    /// As `supervisor::supervise`.
    pub unsafe fn begin(&self) -> io::Result<(Recorder, [libc::c_int; 2])> {
        // SAFETY: system calls with descriptors that are ours and texts that end with a NUL.
        unsafe {
            failpoint!("supervisor.record.before");
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
            let started = libc::openat(self.folder.as_raw_fd(), c"started".as_ptr(), flags, 0o600);
            if started == -1 {
                return Err(io::Error::last_os_error());
            }
            failpoint!("supervisor.record.made");
            let pid = libc::getpid().to_le_bytes();
            let written = libc::write(started, pid.as_ptr().cast(), pid.len());
            libc::close(started);
            if written != pid.len() as isize {
                return Err(io::ErrorKind::StorageFull.into());
            }
            failpoint!("supervisor.record.begun");
            let mut ends = [[0; 2]; 2];
            for end in &mut ends {
                if libc::pipe2(end.as_mut_ptr(), libc::O_CLOEXEC) == -1 {
                    return Err(io::Error::last_os_error());
                }
                libc::fcntl(end[0], libc::F_SETFL, libc::O_NONBLOCK);
            }
            let mut all = mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&mut all);
            let signals = libc::signalfd(-1, &all, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if signals == -1 {
                return Err(io::Error::last_os_error());
            }
            let stream = |at: usize| Stream {
                pipe: ends[at][0],
                file: self.streams[at].as_raw_fd(),
                total: 0,
                half: self.half,
            };
            let recorder = Recorder {
                folder: self.folder.as_raw_fd(),
                lock: self.lock.as_raw_fd(),
                signals,
                streams: [stream(0), stream(1)],
                deadline: Instant::now() + self.limit,
                broken: 0,
                timed_out: false,
            };
            Ok((recorder, [ends[0][1], ends[1][1]]))
        }
    }

    /// Takes the beginning back: the command could not be started.
    ///
    /// # Safety
    /// As `supervisor::supervise`.
    pub unsafe fn take_back(&self) {
        // SAFETY: as above.
        unsafe { libc::unlinkat(self.folder.as_raw_fd(), c"started".as_ptr(), 0) };
    }
}

/// Takes what a command writes.
pub struct Recorder {
    folder: libc::c_int,
    lock: libc::c_int,
    signals: libc::c_int,
    streams: [Stream; 2],
    /// Until then the command may run.
    pub deadline: Instant,
    broken: i32,
    /// It was ended because its time was over.
    pub timed_out: bool,
}

struct Stream {
    /// Where the command's bytes come from; -1 once it has closed its end.
    pipe: libc::c_int,
    file: libc::c_int,
    total: u64,
    half: u64,
}

impl Recorder {
    /// Closes every descriptor of this process but the recorder's own.
    ///
    /// # Safety
    /// As `supervisor::supervise`; descriptors of others are not used any more.
    pub unsafe fn close_others(&self) {
        let [out, err] = &self.streams;
        let mut own = [self.folder, self.lock, self.signals, out.pipe, out.file, err.pipe, err.file];
        own.sort_unstable();
        let mut next = 0;
        for descriptor in own {
            let descriptor = descriptor as libc::c_uint;
            if descriptor > next {
                // SAFETY: a system call without pointers.
                unsafe { libc::syscall(libc::SYS_close_range, next, descriptor - 1, 0) };
            }
            next = descriptor + 1;
        }
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_close_range, next, libc::c_uint::MAX, 0) };
    }

    /// Takes what comes until a signal does or the time is over; the signal, or -1.
    ///
    /// # Safety
    /// As `supervisor::supervise`; every signal is blocked.
    pub unsafe fn next_signal(&mut self, until: Option<Instant>) -> libc::c_int {
        // SAFETY: buffers are as long as is said, and descriptors are ours.
        unsafe {
            let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let mut sources = [poll(self.signals), poll(self.streams[0].pipe), poll(self.streams[1].pipe)];
            let patience = until.map(|until| until.saturating_duration_since(Instant::now()));
            let limit = patience.map(|patience| libc::timespec {
                tv_sec: patience.as_secs() as libc::time_t,
                tv_nsec: patience.subsec_nanos() as _,
            });
            let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
            libc::ppoll(sources.as_mut_ptr(), sources.len() as libc::nfds_t, limit, ptr::null());
            self.take_all();
            let mut heard = mem::zeroed::<libc::signalfd_siginfo>();
            let size = mem::size_of::<libc::signalfd_siginfo>();
            match libc::read(self.signals, ptr::from_mut(&mut heard).cast(), size) {
                count if count == size as isize => heard.ssi_signo as libc::c_int,
                _ => -1,
            }
        }
    }

    unsafe fn take_all(&mut self) {
        for stream in &mut self.streams {
            // SAFETY: as for `next_signal`.
            let error = unsafe { stream.take() };
            if self.broken == 0 {
                self.broken = error;
            }
        }
    }

    /// Records how the command ended, so that it outlives the machine. No process of it is left, so nothing more is written.
    ///
    /// # Safety
    /// As `supervisor::supervise`.
    pub unsafe fn finish(&mut self, status: libc::c_int) {
        // SAFETY: descriptors are ours, texts end with a NUL, buffers are as long as is said.
        unsafe {
            for _ in 0..PIECE {
                let before = self.totals();
                self.take_all();
                if before == self.totals() {
                    break;
                }
            }
            for stream in &self.streams {
                if libc::fdatasync(stream.file) == -1 && self.broken == 0 {
                    self.broken = errno();
                }
            }
            failpoint!("supervisor.record.synced");
            let half = self.streams[0].half;
            let bytes = Recorded::bytes(status, self.timed_out, self.broken, self.totals(), half);
            let flags = libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY | libc::O_CLOEXEC;
            let new = libc::openat(self.folder, c"exit.new".as_ptr(), flags, 0o600);
            if new == -1 {
                return;
            }
            let written = libc::write(new, bytes.as_ptr().cast(), bytes.len());
            if written == bytes.len() as isize && libc::fsync(new) == 0 {
                failpoint!("supervisor.record.written");
                libc::renameat(self.folder, c"exit.new".as_ptr(), self.folder, c"exit".as_ptr());
                failpoint!("supervisor.record.renamed");
                libc::fsync(self.folder);
            }
            libc::close(new);
        }
    }

    fn totals(&self) -> [u64; 2] {
        [self.streams[0].total, self.streams[1].total]
    }
}

impl Stream {
    /// Takes what is there; an error number if it could not be kept.
    unsafe fn take(&mut self) -> i32 {
        let mut buffer = [0u8; PIECE];
        for _ in 0..PIECES {
            if self.pipe == -1 {
                return 0;
            }
            // SAFETY: the buffer is as long as is said.
            let count = unsafe { libc::read(self.pipe, buffer.as_mut_ptr().cast(), PIECE) };
            match count {
                1.. => {
                    // SAFETY: as above.
                    let error = unsafe { self.keep(&buffer[..count as usize]) };
                    if error != 0 {
                        return error;
                    }
                }
                -1 if matches!(errno(), libc::EINTR) => {}
                -1 if matches!(errno(), libc::EAGAIN) => return 0,
                _ => {
                    // SAFETY: the descriptor is ours and is not used any more.
                    unsafe { libc::close(self.pipe) };
                    self.pipe = -1;
                }
            }
        }
        0
    }

    unsafe fn keep(&mut self, mut bytes: &[u8]) -> i32 {
        while !bytes.is_empty() {
            let (place, room) = match self.total < self.half {
                true => (self.total, self.half - self.total),
                false => {
                    let into = (self.total - self.half) % self.half;
                    (self.half + into, self.half - into)
                }
            };
            let piece = &bytes[..bytes.len().min(room as usize)];
            // SAFETY: the buffer is as long as is said.
            let error = unsafe { write_at(self.file, piece, HEADER + place) };
            self.total += piece.len() as u64;
            if error != 0 {
                return error;
            }
            bytes = &bytes[piece.len()..];
        }
        // SAFETY: as above.
        unsafe { write_at(self.file, &self.total.to_le_bytes(), 0) }
    }
}

unsafe fn write_at(file: libc::c_int, mut bytes: &[u8], mut at: u64) -> i32 {
    while !bytes.is_empty() {
        // SAFETY: the buffer is as long as is said.
        match unsafe { libc::pwrite(file, bytes.as_ptr().cast(), bytes.len(), at as libc::off_t) } {
            -1 if errno() == libc::EINTR => {}
            -1 => return errno(),
            count => {
                at += count as u64;
                bytes = &bytes[count as usize..];
            }
        }
    }
    0
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
