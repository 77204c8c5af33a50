//! All lanes, found by shape.

use crate::hash::Map;
use crate::queue::lane::Lane;
use crate::spec::Amount;
use std::ops::{Index, IndexMut};

/// Idle lanes are kept up to this number, because the same shapes come back.
const IDLE: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    unused: Vec<u32>,
    by_shape: Map<Box<[Amount]>, u32>,
    /// Lanes with waiting demands.
    busy: Vec<u32>,
    idle: usize,
}

impl Lanes {
    /// The lane of a shape; a new one if there is none.
    pub fn of(&mut self, shape: &[Amount]) -> u32 {
        if let Some(lane) = self.by_shape.get(shape) {
            return *lane;
        }
        self.sweep();
        let lane = match self.unused.pop() {
            Some(lane) => {
                self[lane] = Lane::new(shape);
                lane
            }
            None => {
                self.lanes.push(Lane::new(shape));
                (self.lanes.len() - 1) as u32
            }
        };
        self.by_shape.insert(shape.into(), lane);
        self.idle += 1;
        lane
    }

    pub fn busy(&self) -> &[u32] {
        &self.busy
    }

    /// Updates the busy and the idle lanes after the number of waiting or held demands of a lane has changed from `before`.
    pub fn note(&mut self, lane: u32, before: (usize, usize)) {
        let after = self.load(lane);
        match (before.0 > 0, after.0 > 0) {
            (false, true) => self.begin(lane),
            (true, false) => self.end(lane),
            _ => {}
        }
        match (before == (0, 0), after == (0, 0)) {
            (true, false) => self.idle -= 1,
            (false, true) => self.idle += 1,
            _ => {}
        }
    }

    /// How many of a lane wait, and how many permits are out.
    pub fn load(&self, lane: u32) -> (usize, usize) {
        let lane = &self[lane];
        (lane.len(), lane.held)
    }

    fn begin(&mut self, lane: u32) {
        self[lane].busy_at = Some(self.busy.len() as u32);
        self.busy.push(lane);
    }

    fn end(&mut self, lane: u32) {
        let at = self[lane].busy_at.take().expect("a lane with demands is busy") as usize;
        self.busy.swap_remove(at);
        if let Some(moved) = self.busy.get(at).copied() {
            self[moved].busy_at = Some(at as u32);
        }
    }

    /// Lanes with waiting demands or with permits that are out.
    pub fn in_use(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().filter(|lane| lane.len() > 0 || lane.held > 0)
    }

    /// Forgets idle lanes, once there are many.
    fn sweep(&mut self) {
        if self.idle > IDLE {
            self.forget_idle();
        }
    }

    /// Forgets idle lanes: no demand waits and no permit is out.
    pub fn forget_idle(&mut self) {
        let lanes = &self.lanes;
        let unused = &mut self.unused;
        self.by_shape.retain(|_, lane| {
            let idle = lanes[*lane as usize].len() == 0 && lanes[*lane as usize].held == 0;
            if idle {
                unused.push(*lane);
            }
            !idle
        });
        // What is in `unused` came out of a hash map; its order must not show in anything, and numbers of lanes do not.
        self.idle = 0;
    }
}

impl Index<u32> for Lanes {
    type Output = Lane;
    fn index(&self, lane: u32) -> &Lane {
        &self.lanes[lane as usize]
    }
}

impl IndexMut<u32> for Lanes {
    fn index_mut(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane as usize]
    }
}
