//! From what a person typed to a run. The folders decide, not the index: one look at their names is all it takes.

use crate::state::is_being_made;
use crate::{Error, StateDir};
use convoke_model::{RunId, edit_distance};

impl StateDir {
    /// The one run whose name is this, or begins or ends with it.
    pub fn resolve(&self, name: &str) -> Result<RunId, Error> {
        let run = RunId(name.into());
        if self.existing(&run).is_ok() {
            return Ok(run);
        }
        // Only those that fit are looked into: names are enough to tell that the others do not.
        let mut runs = self.folders()?;
        runs.retain(|run| !fits(name, run) || !is_being_made(&self.run_dir(run)));
        pick(name, runs)
    }
}

fn fits(name: &str, run: &RunId) -> bool {
    !name.is_empty() && (run.0.starts_with(name) || run.0.ends_with(name))
}

fn pick(name: &str, runs: Vec<RunId>) -> Result<RunId, Error> {
    if let Some(run) = runs.iter().find(|run| &*run.0 == name) {
        return Ok(run.clone());
    }
    let mut fitting: Vec<RunId> = runs.iter().filter(|run| fits(name, run)).cloned().collect();
    match fitting.len() {
        1 => Ok(fitting.remove(0)),
        0 => Err(Error::UnknownRun { name: name.into(), nearest: nearest(name, &runs) }),
        _ => Err(Error::AmbiguousRun { name: name.into(), runs: fitting }),
    }
}

/// The run whose name needs the fewest changes, if most of it is as typed.
fn nearest(name: &str, runs: &[RunId]) -> Option<RunId> {
    let (far, run) = runs.iter().map(|run| (edit_distance(name, &run.0), run)).min()?;
    (far * 2 <= name.len()).then(|| run.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<RunId> {
        ["20261115-101532-7k3q", "20261115-101532-7k3z", "20261116-000000-abcd"]
            .map(|name| RunId(name.into()))
            .into()
    }

    #[test]
    fn a_beginning_or_an_end_is_enough() {
        for name in ["20261116", "abcd", "20261116-000000-abcd"] {
            assert_eq!(pick(name, runs()).unwrap(), runs()[2]);
        }
    }

    #[test]
    fn doubt_is_told() {
        let error = pick("20261115", runs()).unwrap_err();
        assert!(matches!(&error, Error::AmbiguousRun { runs, .. } if runs.len() == 2), "{error}");
        assert!(
            error.to_string().starts_with("`20261115` stands for 2 runs, among them `20261115-101532-7k3q`")
        );
    }

    #[test]
    fn a_slip_is_met_with_the_nearest() {
        let error = pick("20261116-000000-abcx", runs()).unwrap_err();
        let text = "no run is named `20261116-000000-abcx`; the nearest is `20261116-000000-abcd`";
        assert_eq!(error.to_string(), text);
        assert_eq!(pick("zzz", runs()).unwrap_err().to_string(), "no run is named `zzz`");
        assert!(matches!(pick("", runs()), Err(Error::UnknownRun { .. })));
    }
}
