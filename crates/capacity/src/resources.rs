//! Resources: named limits that all processes of the machine share.
//!
//! A resource lives while a process uses it. The first process defines its limit; a second one with another limit in mind is
//! told what is in force. When its last user has gone, the next one defines it anew. `set_limit` changes a live machine, and a
//! limit that was set so stays until the machine boots: a process that defines the resource later is told of it.
//!
//! A rate is a resource with a window: what a call took of it counts until a window after the provider counted it (`settle.rs`).

use crate::capacity::Capacity;
use crate::cells::{Text, Vector};
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::extents::Table;
use crate::failpoint::step;
use crate::layout::{NONE, ProcessKey, RESOURCES, ResourceSlot, VECTOR, WaiterState};
use crate::leases::LONGEST_TTL;
use crate::queue;
use crate::table::{Held, Relaxed, ring};
use crate::views::ResourceView;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Longest name, in bytes.
pub const NAME_BYTES: usize = Text::<8>::CAPACITY;

/// A resource that this process has defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId {
    index: u32,
    generation: u32,
}

impl ResourceId {
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    pub(crate) fn generation(self) -> u32 {
        self.generation
    }
}

/// What is in force for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defined {
    /// Its id, for demands.
    pub id: ResourceId,
    /// The limit in force.
    pub limit: u32,
    /// For how long a rate counts; zero for what is no rate.
    pub window: Duration,
    /// Where that limit came from.
    pub origin: String,
    /// Whether it is what this call asked for.
    pub as_asked: bool,
}

impl Capacity {
    /// Names a resource this process will use. If another live process uses it already, its limit stands.
    pub fn define(&self, name: &str, limit: u32, origin: &str) -> Result<Defined, Error> {
        self.define_as(name, limit, Duration::ZERO, origin)
    }

    /// As [`define`](Self::define), for so much per window: what a lease took of it lingers after its end.
    pub fn define_rate(
        &self,
        name: &str,
        limit: u32,
        window: Duration,
        origin: &str,
    ) -> Result<Defined, Error> {
        if window < Duration::from_millis(1) || window > LONGEST_TTL {
            return Err(Error::invalid(format!("a rate counts for 1 ms to {LONGEST_TTL:?}, not {window:?}")));
        }
        self.define_as(name, limit, window, origin)
    }

    fn define_as(&self, name: &str, limit: u32, window: Duration, origin: &str) -> Result<Defined, Error> {
        check_name(name)?;
        let mut held = self.lock()?;
        let index = match held.find_resource(name) {
            Some(index) => index,
            None => held.new_resource(name)?,
        };
        let slot = held.resource(index);
        let own = held.own();
        if !has_other_users(slot, own) {
            slot.window.store(nanoseconds(window), Relaxed);
            if slot.by_hand.load(Relaxed) == 0 {
                held.write_limit(index, limit, origin);
            }
        }
        user_bits(slot, own).fetch_or(bit(own), Relaxed);
        let in_force = (slot.limit.load(Relaxed), Duration::from_nanos(slot.window.load(Relaxed)));
        Ok(Defined {
            id: ResourceId { index, generation: slot.generation.load(Relaxed) },
            as_asked: in_force == (limit, window),
            limit: in_force.0,
            window: in_force.1,
            origin: slot.origin.read(),
        })
    }

    /// Says that this process will not use the resource again. What it holds of it stays its own.
    pub fn forget(&self, id: ResourceId) -> Result<(), Error> {
        let held = self.lock()?;
        let slot = held.known(id)?;
        user_bits(slot, held.own()).fetch_and(!bit(held.own()), Relaxed);
        Ok(())
    }

    /// Changes the limit for all processes at once, and until the machine boots. Below what is in use, nothing is granted until
    /// enough is given back; demands that can never be met any more are refused. Raises
    /// [`limits_generation`](Self::limits_generation) and rings the bell of every process that uses it. Answers with the limit
    /// before, or `None` for an unknown name.
    pub fn set_limit(&self, name: &str, limit: u32, origin: &str) -> Result<Option<u32>, Error> {
        self.change_limit(name, limit, origin, true)
    }

    /// As [`set_limit`](Self::set_limit), but only for as long as anybody uses the resource, and not over what was set.
    pub fn restate_limit(&self, name: &str, limit: u32, origin: &str) -> Result<Option<u32>, Error> {
        self.change_limit(name, limit, origin, false)
    }

    fn change_limit(
        &self,
        name: &str,
        limit: u32,
        origin: &str,
        by_hand: bool,
    ) -> Result<Option<u32>, Error> {
        check_name(name)?;
        let mut held = self.lock()?;
        let Some(index) = held.find_resource(name) else { return Ok(None) };
        let slot = held.resource(index);
        let before = slot.limit.load(Relaxed);
        if !by_hand && slot.by_hand.load(Relaxed) == 1 {
            return Ok(Some(before));
        }
        held.write_limit(index, limit, origin);
        slot.by_hand.fetch_max(u32::from(by_hand), Relaxed);
        step();
        self.mapping.header.limits_generation.fetch_add(1, Ordering::Release);
        drop(held);
        self.ring_users(slot);
        Ok(Some(before))
    }

    /// Tells all users of a resource that something about it has changed.
    pub(crate) fn ring_users(&self, slot: &ResourceSlot) {
        let processes = self.mapping.processes.iter().zip(0..);
        processes.filter(|(_, user)| is_user(slot, *user)).for_each(|(process, _)| ring(process));
    }

    /// Rises with every limit that is [set](Self::set_limit): a process that remembers another number asks for its
    /// [limits](Self::in_force) again. Needs no lock. May rise for nothing.
    pub fn limits_generation(&self) -> u64 {
        self.mapping.header.limits_generation.load(Ordering::Acquire)
    }

    /// What is in force for a resource that this process has defined.
    pub fn in_force(&self, id: ResourceId) -> Result<ResourceView, Error> {
        let held = self.lock()?;
        held.known(id)?;
        Ok(ResourceView::of(held.table(), id.index, held.now))
    }
}

impl Held<'_> {
    pub(crate) fn find_resource(&self, name: &str) -> Option<u32> {
        (0..self.resources_top() as u32)
            .find(|index| self.resource(*index).is_defined() && self.resource(*index).name.is(name))
    }

    fn new_resource(&mut self, name: &str) -> Result<u32, Error> {
        let index = self.take_resource_slot()?;
        let slot = self.resource(index);
        slot.state.store(0, Ordering::Release);
        step();
        slot.generation.fetch_add(1, Relaxed);
        slot.limit.store(0, Relaxed);
        slot.streak.store(0, Relaxed);
        slot.last.store(0, Relaxed);
        slot.window.store(0, Relaxed);
        slot.paused_until.store(0, Relaxed);
        self.forget_learned(index);
        slot.name.write(name);
        step();
        slot.state.store(1, Ordering::Release);
        step();
        Ok(index)
    }

    /// A slot that was never used, else one that no process uses any more.
    fn take_resource_slot(&self) -> Result<u32, Error> {
        let top = self.resources_top();
        if top < RESOURCES {
            self.table().make_room(Table::Resources, top as u32)?;
            self.table().header.derived.resources_top.store(top as u32 + 1, Relaxed);
            return Ok(top as u32);
        }
        (0..RESOURCES as u32)
            .find(|index| self.resource(*index).is_idle(self.now))
            .ok_or(Error::Full { table: "resources", size: RESOURCES })
    }

    pub(crate) fn write_limit(&mut self, index: u32, limit: u32, origin: &str) {
        let slot = self.resource(index);
        slot.limit.store(limit, Relaxed);
        step();
        slot.origin.write(origin);
        self.note_freed(index);
        self.note_spent();
        self.refuse_the_impossible(index, limit);
    }

    fn refuse_the_impossible(&mut self, resource: u32, limit: u32) {
        let impossible: Vec<u32> = queue::queued(self)
            .filter(|index| {
                let wanted = self.waiter(*index).amounts.read();
                wanted.iter().any(|(name, amount)| name == resource && amount > limit)
            })
            .collect();
        for index in impossible {
            queue::answer(self, index, WaiterState::Refused, NONE);
            queue::unlink(self, index);
        }
    }

    /// The slot of a resource that this process has defined.
    pub(crate) fn known(&self, id: ResourceId) -> Result<&ResourceSlot, Error> {
        let slot = self.table().resource(id.index);
        let ours = slot.is_defined()
            && slot.generation.load(Relaxed) == id.generation
            && user_bits(slot, self.own()).load(Relaxed) & bit(self.own()) != 0;
        if ours { Ok(slot) } else { Err(Error::UnknownResource { index: id.index }) }
    }

    /// A demand as the tables keep it: every resource known and named once, nothing that can never be had.
    pub(crate) fn vector(&self, wanted: &[(ResourceId, u32)]) -> Result<Vector, Error> {
        let mut vector = Vector::default();
        for (id, amount) in wanted {
            let slot = self.known(*id)?;
            let limit = slot.limit.load(Relaxed);
            if *amount == 0 || vector.names(id.index) {
                return Err(Error::invalid(format!("`{}` is wanted twice, or not at all", slot.name.read())));
            }
            if *amount > limit {
                return Err(Error::NeverFits { resource: slot.name.read(), wanted: *amount, limit });
            }
            vector.push(id.index, *amount);
        }
        Ok(vector)
    }
}

/// A demand names one resource at least, and as many as a slot has room for at most.
pub(crate) fn check_length(wanted: &[(ResourceId, u32)]) -> Result<(), Error> {
    match wanted.len() {
        1..=VECTOR => Ok(()),
        count => Err(Error::invalid(format!("a demand names 1 to {VECTOR} resources, this one {count}"))),
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    match name.len() {
        1..=NAME_BYTES => Ok(()),
        length => Err(Error::invalid(format!(
            "a resource's name has 1 to {NAME_BYTES} bytes, `{name}` has {length}"
        ))),
    }
}

fn bit(key: ProcessKey) -> u64 {
    1 << (key.index % 64)
}

fn user_bits(slot: &ResourceSlot, key: ProcessKey) -> &std::sync::atomic::AtomicU64 {
    &slot.users[key.index as usize / 64]
}

pub(crate) fn is_user(slot: &ResourceSlot, process: usize) -> bool {
    slot.users[process / 64].load(Relaxed) & 1 << (process % 64) != 0
}

fn has_other_users(slot: &ResourceSlot, own: ProcessKey) -> bool {
    slot.users.iter().enumerate().any(|(word, bits)| {
        let mine = if word == own.index as usize / 64 { bit(own) } else { 0 };
        bits.load(Relaxed) & !mine != 0
    })
}

/// A dead process uses nothing, unless its slot is a successor's by now, whose bits these are then.
pub(crate) fn forget_dead(held: &Held<'_>, key: ProcessKey) {
    if held.process(key.index).standing().0 == key.generation {
        for index in 0..held.resources_top() as u32 {
            user_bits(held.resource(index), key).fetch_and(!bit(key), Relaxed);
        }
    }
}
