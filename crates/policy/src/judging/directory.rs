//! The working directory at each place of a script, without running it.
//!
//! `cd` may fail, and whether a command behind `&&` and `||` is reached depends on the one before it. All cases are followed; where
//! a command could run in two folders, nothing is said of it.

use crate::reading::script::Join;

/// One case: where the shell stands, and whether the last command succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    folder: String,
    succeeded: bool,
}

/// All cases.
#[derive(Debug)]
pub struct Directories {
    cases: Vec<Case>,
}

/// How a pipeline ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With success or not.
    Any,
    /// Always alike.
    Always(bool),
    /// It enters a folder, which may fail if it is not known to be there.
    Enters(String, bool),
}

impl Directories {
    /// At the beginning.
    pub fn new(folder: String) -> Directories {
        Directories { cases: vec![Case { folder, succeeded: true }] }
    }

    fn reached(case: &Case, join: Join) -> bool {
        match join {
            Join::Then => true,
            Join::And => case.succeeded,
            Join::Or => !case.succeeded,
        }
    }

    /// The folder in which the next pipeline runs; nothing if it may be one of several. What is never reached runs nowhere, and
    /// is judged where it would be.
    pub fn folder(&self, join: Join) -> Option<&str> {
        let mut folders: Vec<&str> = self
            .cases
            .iter()
            .filter(|case| Self::reached(case, join))
            .map(|case| case.folder.as_str())
            .collect();
        if folders.is_empty() {
            folders = self.cases.iter().map(|case| case.folder.as_str()).collect();
        }
        let first = *folders.first()?;
        folders.iter().all(|folder| *folder == first).then_some(first)
    }

    /// A pipeline was there.
    pub fn after(&mut self, join: Join, end: &End) {
        let mut next: Vec<Case> = Vec::new();
        let mut add = |folder: &str, succeeded: bool| {
            let case = Case { folder: folder.to_owned(), succeeded };
            if !next.contains(&case) {
                next.push(case);
            }
        };
        for case in &self.cases {
            if !Self::reached(case, join) {
                add(&case.folder, case.succeeded);
                continue;
            }
            match end {
                End::Any => {
                    add(&case.folder, true);
                    add(&case.folder, false);
                }
                End::Always(succeeded) => add(&case.folder, *succeeded),
                End::Enters(folder, certain) => {
                    add(folder, true);
                    if !certain {
                        add(&case.folder, false);
                    }
                }
            }
        }
        self.cases = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enters(folder: &str, certain: bool) -> End {
        End::Enters(folder.to_owned(), certain)
    }

    #[test]
    fn a_folder_that_may_be_missing_is_only_entered_behind_and() {
        let mut at = Directories::new("/w".into());
        at.after(Join::Then, &enters("/w/a", false));
        assert_eq!(at.folder(Join::And), Some("/w/a"));
        assert_eq!(at.folder(Join::Or), Some("/w"));
        assert_eq!(at.folder(Join::Then), None);
    }

    #[test]
    fn what_may_be_left_out_leaves_two_cases() {
        let mut at = Directories::new("/w".into());
        at.after(Join::Then, &End::Any);
        at.after(Join::And, &enters("/w/a", true));
        assert_eq!(at.folder(Join::Then), None);
        let mut at = Directories::new("/w".into());
        at.after(Join::Then, &End::Always(true));
        at.after(Join::And, &enters("/w/a", true));
        assert_eq!(at.folder(Join::Then), Some("/w/a"));
    }
}
