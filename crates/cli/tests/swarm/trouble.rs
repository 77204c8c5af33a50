//! The trouble-maker: stops and kills processes at random moments.

use super::lanes::{Kind, Lane, Shape, Trouble};
use super::provider::Watch;
use crate::support::World;
use crate::support::random::Random;
use std::time::Duration;

/// Time between two troubles in milliseconds, at least and at most.
const PAUSE: (u64, u64) = (150, 700);

/// How long a stop lasts in milliseconds, at least and at most.
const STOP: (u64, u64) = (200, 3_000);

/// One trouble in so many is a kill.
const KILLS: u64 = 4;

/// One stop in so many is longer than a lease lasts.
const LONG: u64 = 6;

/// How often processes are looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// How long the last runs may take, in microseconds.
const LONGEST: u64 = 240_000_000;

pub struct TroubleMaker {
    random: Random,
    next: u64,
    pub troubles: Vec<Trouble>,
}

impl TroubleMaker {
    pub fn new(seed: u64, watch: Watch) -> TroubleMaker {
        let mut maker = TroubleMaker { random: Random(seed ^ 0x5eed), next: 0, troubles: Vec::new() };
        maker.next = watch.now() + maker.pause();
        maker
    }

    fn pause(&mut self) -> u64 {
        self.between(PAUSE) * 1000
    }

    fn between(&mut self, (least, most): (u64, u64)) -> u64 {
        least + self.random.below(most - least + 1)
    }

    /// Drives the lanes to their ends, making trouble all the time. New runs begin until this time.
    pub fn drive(&mut self, lanes: &mut [Lane], world: &World, shape: &Shape, watch: Watch, until: u64) {
        while lanes.iter().any(|lane| !lane.is_over()) {
            let now = watch.now();
            assert!(now < until + LONGEST, "some runs do not end: {:?}", names_of(lanes));
            let another = now < until;
            for lane in &mut *lanes {
                if let Some(end) = lane.go_on(watch) {
                    self.note_end(lane.name(), end);
                }
                lane.look(world, shape, another);
            }
            if watch.now() >= self.next {
                let lane = self.random.below(lanes.len() as u64) as usize;
                self.trouble(&mut lanes[lane], world, shape, watch);
                self.next = watch.now() + self.pause();
            }
            std::thread::sleep(GLANCE);
        }
    }

    fn trouble(&mut self, lane: &mut Lane, world: &World, shape: &Shape, watch: Watch) {
        let lease = shape.lease.as_millis() as u64;
        let made = if self.random.below(KILLS) == 0 {
            let killed = lane.kill(world, shape, watch);
            // Stopped processes go on.
            killed.inspect(|kill| self.note_end((kill.lane, kill.round), kill.end))
        } else {
            let length = match self.random.below(LONG) {
                0 => self.between((lease + lease / 4, 2 * lease)),
                _ => self.between(STOP),
            };
            lane.stop(watch, length * 1000)
        };
        self.troubles.extend(made);
    }

    fn note_end(&mut self, name: (usize, usize), end: u64) {
        let open = |trouble: &&mut Trouble| {
            trouble.kind == Kind::Stop && trouble.end == u64::MAX && (trouble.lane, trouble.round) == name
        };
        if let Some(stop) = self.troubles.iter_mut().find(open) {
            stop.end = end;
        }
    }
}

/// The runs that go on.
fn names_of(lanes: &[Lane]) -> Vec<(usize, usize)> {
    lanes.iter().filter(|lane| !lane.is_over()).map(Lane::name).collect()
}
