//! Names: of a task's branch, of its folder, of its record.
//!
//! A task id may have brackets, slashes and anything that a key of a fan-out has; a branch may not. What had to be changed ends in a
//! hash of the whole id, so that two tasks never have one name.

use convoke_model::fnv;

/// Characters of a task id that a name keeps.
const KEPT: usize = 48;

/// A task id as one part of a path and of a ref.
pub(crate) fn slug(task: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain = !task.is_empty() && task.len() <= KEPT && task.chars().all(fits) && !task.starts_with('-');
    if plain {
        return task.to_owned();
    }
    let kept: String = task.chars().take(KEPT).map(|c| if fits(c) { c } else { '-' }).collect();
    format!("{}-{:08x}", kept.trim_matches('-'), fnv(task.bytes()) as u32)
}

/// The branch of a task.
pub(crate) fn branch(run: &str, task: &str) -> String {
    format!("convoke/{}/{}", slug(run), slug(task))
}

/// The name of a worktree among all of its repository: git makes no other out of one that is taken, because none is.
pub(crate) fn tree(run: &str, task: &str) -> String {
    let mark = fnv(run.bytes().chain([0]).chain(task.bytes()));
    format!("convoke-{mark:016x}-{}", slug(task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_never_shared() {
        assert_eq!(slug("build"), "build");
        assert_eq!(branch("r1", "build"), "convoke/r1/build");
        let odd = ["a/b", "a-b", "a[b]", "a b", "-a-b", "a..b", "ä/b", "goal/2", "goal/2/1", "x.lock", ""];
        let slugs: std::collections::HashSet<String> = odd.iter().map(|task| slug(task)).collect();
        assert_eq!(slugs.len(), odd.len());
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(slugs.iter().all(|slug| slug.chars().all(fits)), "{slugs:?}");
        assert!(slug(&"x".repeat(500)).len() < 64);
    }
}
