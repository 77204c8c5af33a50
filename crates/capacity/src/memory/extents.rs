//! Where a slot is, and disk space for slots that were never used.
//!
//! The file begins with the header, the process slots and no extent. It grows by one extent when a table needs a slot that no
//! extent holds yet, so a table of a few runs takes a few hundred kilobytes and a full one what [`Layout`] takes. Every process
//! maps the whole layout at once: what lies beyond the end of the file is address space only, and becomes memory when any
//! process has made the file longer. Files never shrink while a process uses them.
//!
//! Invariant: no slot is touched, not even read, before its extent is in the file. The top of a table is raised after its extent
//! is there, so a reader that goes by tops is safe. Space is reserved as it is taken: a full disk is an error here, not a signal
//! at some later store.

use crate::buckets::Buckets;
use crate::error::Error;
use crate::layout::{
    EXTENTS, Extent, LEASES, Layout, LearnedSlot, LeaseSlot, OFFERS, OfferSlot, RESOURCES, ResourceSlot,
    WAITERS, WaiterSlot,
};
use crate::mapping::Mapping;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

/// A table that grows with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Resources, with what lingers and is learned of them.
    Resources,
    /// Leases.
    Leases,
    /// Places in the queue.
    Waiters,
    /// Offers.
    Offers,
}

impl Table {
    /// How many of its slots are in one extent.
    pub const fn per_extent(self) -> usize {
        match self {
            Self::Resources => RESOURCES / EXTENTS,
            Self::Leases => LEASES / EXTENTS,
            Self::Waiters => WAITERS / EXTENTS,
            Self::Offers => OFFERS / EXTENTS,
        }
    }
}

const _: () = assert!(
    RESOURCES.is_multiple_of(EXTENTS)
        && LEASES.is_multiple_of(EXTENTS)
        && WAITERS.is_multiple_of(EXTENTS)
        && OFFERS.is_multiple_of(EXTENTS)
);

/// How long a file with so many extents is.
pub const fn length(extents: usize) -> u64 {
    (offset_of!(Layout, extents) + extents * size_of::<Extent>()) as u64
}

impl Layout {
    /// The slot of a resource.
    pub fn resource(&self, index: u32) -> &ResourceSlot {
        let each = Table::Resources.per_extent();
        &self.extents[index as usize / each].resources[index as usize % each]
    }

    /// What lingers of a resource.
    pub fn lingering(&self, index: u32) -> &Buckets {
        let each = Table::Resources.per_extent();
        &self.extents[index as usize / each].lingering[index as usize % each]
    }

    /// What is learned of a resource.
    pub fn learned(&self, index: u32) -> &LearnedSlot {
        let each = Table::Resources.per_extent();
        &self.extents[index as usize / each].learned[index as usize % each]
    }

    /// The slot of a lease.
    pub fn lease(&self, index: u32) -> &LeaseSlot {
        let each = Table::Leases.per_extent();
        &self.extents[index as usize / each].leases[index as usize % each]
    }

    /// The slot of a waiter.
    pub fn waiter(&self, index: u32) -> &WaiterSlot {
        let each = Table::Waiters.per_extent();
        &self.extents[index as usize / each].waiters[index as usize % each]
    }

    /// The slot of an offer.
    pub fn offer(&self, index: u32) -> &OfferSlot {
        let each = Table::Offers.per_extent();
        &self.extents[index as usize / each].offers[index as usize % each]
    }

    /// How many slots of a table are in the file.
    pub fn slots(&self, table: Table) -> u32 {
        let extents = (self.header.extents.load(Ordering::Acquire) as usize).min(EXTENTS);
        (extents * table.per_extent()) as u32
    }
}

impl Mapping {
    /// Makes the file long enough for this slot. Any process may do so at any time: the file only ever grows.
    pub fn make_room(&self, table: Table, index: u32) -> Result<(), Error> {
        if index < self.slots(table) {
            return Ok(());
        }
        let extents = index as usize / table.per_extent() + 1;
        reserve(self.file(), extents).map_err(|source| Error::Io {
            doing: "grow",
            path: self.path().to_owned(),
            source,
        })?;
        self.header.extents.fetch_max(extents as u32, Ordering::AcqRel);
        Ok(())
    }
}

/// Takes the space of a file with so many extents. Never shortens it, so two processes may do so at once.
pub fn reserve(file: &File, extents: usize) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, length(extents)) {
        Ok(()) => Ok(()),
        // The last byte means nothing, so it overwrites no data.
        Err(rustix::io::Errno::OPNOTSUPP) => file.write_all_at(&[0], length(extents) - 1),
        Err(error) => Err(error.into()),
    }
}
