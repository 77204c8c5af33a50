//! Using more than the bounds, and staying longer than the command.

use crate::{Attempt, Outcome, Scene, call};
use std::fs::{self, File};
use std::io::{self, Write};
use std::time::{Duration, Instant};

pub const ALL: &[Attempt] = &[
    ("fork_bomb", |_| {
        for _ in 0..200 {
            // SAFETY: a fork; the child waits for its end.
            unsafe {
                if call(libc::fork())? == 0 {
                    loop {
                        libc::pause();
                    }
                }
            }
        }
        Ok(())
    }),
    ("thread_bomb", |_| {
        for _ in 0..200 {
            std::thread::Builder::new().stack_size(64 * 1024).spawn(|| {
                loop {
                    std::thread::park();
                }
            })?;
        }
        Ok(())
    }),
    ("memory_bomb", |_| {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for _ in 0..40 {
            let mut piece = Vec::new();
            piece.try_reserve_exact(10 << 20).map_err(io::Error::other)?;
            piece.resize(10 << 20, 1);
            pieces.push(piece);
        }
        Ok(())
    }),
    ("memory_of_many", |_| {
        for _ in 0..8 {
            // SAFETY: a fork of a process with one thread.
            if call(unsafe { libc::fork() })? == 0 {
                let held = vec![1u8; 60 << 20];
                std::hint::black_box(&held);
                loop {
                    std::thread::park();
                }
            }
        }
        // It ends by itself only if it is not ended.
        std::thread::sleep(Duration::from_secs(20));
        Ok(())
    }),
    ("processor", |_| {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(15) {
            std::hint::black_box(begin);
        }
        Ok(())
    }),
    ("long_file", |s| {
        // SAFETY: the signal is ignored, so that the call says why it fails.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let mut file = File::create(s.path("root").join("long"))?;
        (0..3).try_for_each(|_| file.write_all(&vec![0; 1 << 20]))
    }),
    ("many_descriptors", |_| {
        let open = (0..200).map(|_| File::open("/dev/null"));
        open.collect::<io::Result<Vec<_>>>().map(drop)
    }),
    ("raise_a_limit", |_| {
        let most = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
        // SAFETY: the limit lives here.
        call(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &most) }).map(drop)
    }),
    ("stay_in_a_session", |s| stay(s, &[Part::Session])),
    ("stay_as_an_orphan", |s| stay(s, &[Part::Fork, Part::Session, Part::Fork])),
    ("stay_deaf", |s| stay(s, &[Part::Deaf, Part::Session])),
    ("stay_without_the_mark", |s| stay(s, &[Part::Unmarked, Part::Session])),
];

enum Part {
    Fork,
    Session,
    Deaf,
    Unmarked,
}

/// Leaves a process behind that tells its id.
fn stay(scene: &Scene, parts: &[Part]) -> Outcome {
    let told = scene.path("root").join("stays");
    // SAFETY: forks of a process with one thread.
    unsafe {
        if call(libc::fork())? == 0 {
            for part in parts {
                match part {
                    Part::Fork if libc::fork() != 0 => libc::_exit(0),
                    Part::Fork => {}
                    Part::Session => drop(libc::setsid()),
                    Part::Deaf => {
                        for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGINT, libc::SIGUSR2] {
                            libc::signal(signal, libc::SIG_IGN);
                        }
                    }
                    Part::Unmarked => std::env::remove_var("CONVOKE_COMMAND"),
                }
            }
            let aside = told.with_extension("new");
            let _ = fs::write(&aside, std::process::id().to_string());
            let _ = fs::rename(&aside, &told);
            loop {
                libc::pause();
            }
        }
    }
    while !told.exists() {
        std::thread::yield_now();
    }
    Err(io::Error::other("it has left one behind"))
}
