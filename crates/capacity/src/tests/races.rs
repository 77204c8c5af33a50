//! The protocols on shared words, under schedules that a machine would hardly ever show.
//!
//! Nothing here times out, unlike the real sleepers: a wake-up that is lost is a deadlock, which the scheduler reports. Schedules
//! are sequentially consistent, as the operations on these words are.

use crate::futex::Word;
use crate::{lock_word, signals};
use shuttle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use std::convert::Infallible;
use std::time::Duration;

const FOR_EVER: Duration = Duration::MAX;

/// A word whose every operation is a place at which another thread may go first.
#[derive(Default)]
struct Simulated {
    value: AtomicU32,
    /// What the kernel holds while it compares and puts to sleep.
    kernel: Mutex<()>,
    woken: Condvar,
}

impl Word for Simulated {
    fn get(&self) -> u32 {
        self.value.load(SeqCst)
    }

    fn set(&self, value: u32) {
        self.value.store(value, SeqCst);
    }

    fn swap(&self, value: u32) -> u32 {
        self.value.swap(value, SeqCst)
    }

    fn raise(&self) {
        self.value.fetch_add(1, SeqCst);
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.value.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    fn sleep(&self, expected: u32, _: Duration) {
        let kernel = self.kernel.lock().unwrap();
        if self.value.load(SeqCst) == expected {
            drop(self.woken.wait(kernel).unwrap());
        }
    }

    fn rouse(&self, sleepers: u32) {
        let _kernel = self.kernel.lock().unwrap();
        match sleepers {
            1 => self.woken.notify_one(),
            _ => self.woken.notify_all(),
        }
    }
}

/// Random schedules, and such as have few switches at the worst places.
fn check(test: impl Fn() + Clone + Send + Sync + 'static) {
    shuttle::check_random(test.clone(), 3_000);
    shuttle::check_pct(test, 3_000, 3);
}

#[test]
fn one_at_a_time_is_inside_and_nobody_sleeps_for_ever() {
    check(|| {
        let (word, inside) = (Arc::new(Simulated::default()), Arc::new(AtomicBool::new(false)));
        let threads: Vec<_> = (1..=3)
            .map(|mine| {
                let (word, inside) = (Arc::clone(&word), Arc::clone(&inside));
                thread::spawn(move || (0..2).for_each(|_| take_a_turn(&word, mine, &inside)))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(word.get() & !lock_word::SLEEPERS, 0);
    });
}

fn take_a_turn(word: &Simulated, mine: u32, inside: &AtomicBool) {
    if !lock_word::take(word, mine) {
        while lock_word::take_or_sleep(word, mine, FOR_EVER) != lock_word::Tried::Taken {}
    }
    assert!(!inside.swap(true, SeqCst), "two are inside");
    inside.store(false, SeqCst);
    lock_word::leave(word);
}

#[test]
fn a_listener_hears_every_ring() {
    check(|| {
        let words = Arc::new((Simulated::default(), Simulated::default()));
        let ringers: Vec<_> = (0..2)
            .map(|_| {
                let words = Arc::clone(&words);
                thread::spawn(move || signals::ring(&words.0, &words.1))
            })
            .collect();
        let (bell, listening) = (&words.0, &words.1);
        let mut heard = 0;
        while heard < 2 {
            let pause = || {
                bell.sleep(heard, FOR_EVER);
                Ok::<bool, Infallible>(true)
            };
            heard = signals::listen(bell, listening, heard, pause).unwrap();
        }
        ringers.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn who_waits_for_an_answer_gets_it() {
    check(|| {
        let words = Arc::new((Simulated::default(), Simulated::default(), AtomicBool::new(true)));
        let other = Arc::clone(&words);
        let server = thread::spawn(move || {
            other.2.store(false, SeqCst);
            signals::answer(&other.0);
            signals::wake(&other.0, &other.1);
        });
        let (signal, sleeping, waiting) = (&words.0, &words.1, &words.2);
        let pause = || {
            signal.sleep(0, FOR_EVER);
            Ok::<bool, Infallible>(true)
        };
        assert!(signals::await_answer(sleeping, || waiting.load(SeqCst), pause).unwrap());
        server.join().unwrap();
    });
}
