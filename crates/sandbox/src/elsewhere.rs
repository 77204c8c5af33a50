//! Systems for which there is no sandbox: preparing one is refused.

use crate::bounds::Bounds;
use crate::confinement::Confinement;
use crate::missing::Missing;
use crate::proxy::Door;
use std::io;
use std::path::Path;

/// What the machine has for sandboxes: nothing.
#[derive(Debug, Clone)]
pub struct Means;

/// What this machine has.
pub fn means() -> &'static Means {
    &Means
}

/// Whether a command of an agent can be confined here.
pub fn available() -> Result<(), Missing> {
    Err(Missing::System(std::env::consts::OS))
}

impl Means {
    /// Whether a trusted command can be kept from what is hidden.
    pub fn trusted(&self) -> Result<(), Missing> {
        available()
    }
}

/// A confinement in the form that the kernel takes; there is none.
pub enum Prepared {}

/// What lives in the engine as long as a confined command does.
#[derive(Default)]
pub struct Kept {
    /// What it may use.
    pub bounds: Bounds,
}

impl Kept {
    /// Why a start failed, if it was the sandbox.
    pub fn explain(&self, _: &io::Error) -> Option<Missing> {
        None
    }

    /// The way to listed hosts.
    pub fn door(&mut self) -> io::Result<Option<Door>> {
        Ok(None)
    }
}

impl Prepared {
    /// Refused.
    pub fn new(_: &Confinement, _: &Path) -> Result<(Prepared, Kept), Missing> {
        Err(Missing::System(std::env::consts::OS))
    }

    /// What the command's process is to be cloned with.
    pub fn flags(&self) -> libc::c_int {
        match *self {}
    }

    /// Whether the command leads a session of its own.
    pub fn own_session(&self) -> bool {
        match *self {}
    }

    /// Enters the sandbox.
    ///
    /// # Safety
    /// There is nothing to call this on.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        match *self {}
    }
}
