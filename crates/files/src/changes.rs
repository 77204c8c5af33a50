//! Changes of files: each is made as a whole, and several together are made all or none.
//!
//! Everything that can be refused is refused before the first file is touched. Should the system fail in the middle, what was done is
//! put back. A kill in the middle may leave some files changed; each is whole.

use crate::turns::turn;
use crate::writing::Target;
use crate::{Place, Refusal, Root};

/// The longest file that is changed, in bytes.
pub(crate) const MOST: u64 = 16 << 20;

/// What is to become of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub place: Place,
    /// Its content afterwards; `None` removes it.
    pub content: Option<Vec<u8>>,
}

impl Root {
    /// Writes a file, with the folders that are missing on its way. Says whether there was one before.
    pub fn write(&self, place: &Place, content: &[u8]) -> Result<bool, Refusal> {
        too_large(place, content.len())?;
        let _turn = turn(self.path(), [place]);
        let target = self.target(place, true)?;
        let was_there = target.now.is_some();
        let put = target.stage(content).and_then(|staged| staged.put());
        if put.is_err() {
            self.unmake(&target);
        }
        put.map(|()| was_there)
    }

    /// Changes a file by what is in it; nothing else of this process changes it meanwhile. `None` leaves it as it is.
    pub fn change<E: From<Refusal>>(
        &self,
        place: &Place,
        change: impl FnOnce(Vec<u8>) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<bool, E> {
        let _turn = turn(self.path(), [place]);
        // What cannot be read cannot be changed either, and links that reading would follow are refused.
        let target = self.target(place, false)?;
        let now = target.now.as_ref().ok_or_else(|| self.nothing_there(place))?;
        let before = now.content(MOST)?;
        let Some(after) = change(before.clone())? else { return Ok(false) };
        too_large(place, after.len())?;
        let staged = target.stage(&after)?;
        self.is_still(&target, &before)?;
        staged.put()?;
        Ok(true)
    }

    /// Makes changes of several files, computed from what is in them: all of them or none.
    pub fn change_all<E: From<Refusal>>(
        &self,
        places: &[Place],
        change: impl FnOnce(&[Option<Vec<u8>>]) -> Result<Vec<Change>, E>,
    ) -> Result<Vec<Change>, E> {
        let _turn = turn(self.path(), places);
        let contents = places.iter().map(|place| self.content_now(place)).collect::<Result<Vec<_>, _>>()?;
        let changes = change(&contents)?;
        self.make_all(&changes)?;
        Ok(changes)
    }

    fn make_all(&self, changes: &[Change]) -> Result<(), Refusal> {
        let mut targets: Vec<Target> = Vec::with_capacity(changes.len());
        let done =
            self.aim(changes, &mut targets).and_then(|before| self.carry_out(changes, &targets, before));
        if done.is_err() {
            targets.iter().rev().for_each(|target| self.unmake(target));
        }
        done
    }

    /// Looks at every file, and keeps what is in it.
    fn aim(&self, changes: &[Change], targets: &mut Vec<Target>) -> Result<Vec<Option<Vec<u8>>>, Refusal> {
        let mut before = Vec::with_capacity(changes.len());
        for change in changes {
            too_large(&change.place, change.content.as_ref().map_or(0, Vec::len))?;
            let target = self.target(&change.place, change.content.is_some())?;
            before.push(target.now.as_ref().map(|now| now.content(MOST)).transpose()?);
            targets.push(target);
        }
        Ok(before)
    }

    fn carry_out(
        &self,
        changes: &[Change],
        targets: &[Target],
        before: Vec<Option<Vec<u8>>>,
    ) -> Result<(), Refusal> {
        let staged = targets
            .iter()
            .zip(changes)
            .map(|(target, change)| change.content.as_ref().map(|content| target.stage(content)).transpose());
        let staged = staged.collect::<Result<Vec<_>, _>>()?;
        for (at, (target, staged)) in targets.iter().zip(staged).enumerate() {
            let done = match staged {
                Some(staged) => staged.put(),
                None => target.remove(),
            };
            if let Err(refusal) = done {
                put_back(&targets[..at], &before);
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// What is in a file that may be changed; `None` where there is none.
    fn content_now(&self, place: &Place) -> Result<Option<Vec<u8>>, Refusal> {
        match self.target(place, false) {
            Ok(target) => target.now.map(|now| now.content(MOST)).transpose(),
            Err(refusal) if refusal.is_missing() => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Whether a file still holds what was read: a program may have written it.
    fn is_still(&self, target: &Target, before: &[u8]) -> Result<(), Refusal> {
        match self.content_now(&target.place)? {
            Some(now) if now == before => Ok(()),
            _ => Err(Refusal::Changed(target.place.as_str().to_owned())),
        }
    }

    fn nothing_there(&self, place: &Place) -> Refusal {
        match self.find(place.as_str()) {
            Err(refusal) => refusal,
            Ok(_) => Refusal::Missing { path: place.as_str().to_owned(), near: None },
        }
    }
}

/// The disk may be full now; what can be put back is.
fn put_back(done: &[Target], before: &[Option<Vec<u8>>]) {
    for (target, before) in done.iter().zip(before) {
        let _ = match before {
            Some(content) => target.stage(content).and_then(|staged| staged.put()),
            None => target.remove(),
        };
    }
}

fn too_large(place: &Place, size: usize) -> Result<(), Refusal> {
    let (path, size) = (place.as_str().to_owned(), size as u64);
    if size > MOST { Err(Refusal::TooLarge { path, size, most: MOST }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
