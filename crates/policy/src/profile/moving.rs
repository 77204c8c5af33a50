//! `cp`, `mv` and `ln`: the last operand is where the others go.

use super::arguments::Arguments;
use super::uses::{Use, Uses};
use crate::world::Access;

/// Looks at the operands.
pub fn refine<'a>(key: &str, found: &Arguments<'a>, uses: &mut Uses<'a>) {
    if let Some(pattern) = found.operands.iter().find(|operand| operand.is_pattern) {
        uses.refuse(format!(
            "`{}` is a pattern, so what `{key}` takes depends on the files that are there; name them",
            pattern.text
        ));
        return;
    }
    let operands: Vec<&'a str> = found.operands.iter().map(|operand| operand.text).collect();
    let given = found.options.iter().find(|(name, _)| matches!(*name, "t" | "target-directory"));
    let (sources, target) = match (given, operands.split_last()) {
        (Some((_, Some(folder))), _) => (operands.as_slice(), *folder),
        (_, Some((last, sources))) if !sources.is_empty() => (sources, *last),
        (_, Some(_)) if found.has(&["version", "help"]) => return,
        _ => return uses.refuse(format!("`{key}` takes what goes somewhere, and where it goes")),
    };
    suffix(found, uses);
    let into_folder = given.is_some() || sources.len() > 1 || target.ends_with('/');
    for source in sources {
        match key {
            "mv" => {
                uses.path(*source, Access::Replace);
                uses.path(*source, Access::Read);
                uses.changes_tree = true;
            }
            "ln" => link(source, found, uses),
            _ => uses.path(*source, Access::Read),
        }
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        let inside = format!("{}/{name}", target.trim_end_matches('/'));
        if found.has(&["T", "no-target-directory"]) {
            uses.path(target, Access::Replace);
        } else if into_folder {
            uses.path(inside, Access::Replace);
        } else {
            uses.touched.push(Use::Target(target, inside));
        }
    }
}

/// A kept file gets a name of its own.
fn suffix(found: &Arguments<'_>, uses: &mut Uses<'_>) {
    for (name, value) in &found.options {
        if matches!(*name, "S" | "suffix") && value.is_some_and(|suffix| suffix.contains('/')) {
            uses.refuse("the ending of kept files may not name another folder");
        }
    }
}

fn link<'a>(source: &'a str, found: &Arguments<'a>, uses: &mut Uses<'a>) {
    if !found.has(&["s", "symbolic"]) {
        uses.refuse(format!(
            "`ln` gives `{source}` a second name, by which rules about its first do not hold; copy it"
        ));
        return;
    }
    if source.starts_with('/') || source.split('/').any(|name| name == "..") {
        uses.refuse(format!(
            "a symbolic link to `{source}` may lead out of the folder; link to something beside it"
        ));
    }
    uses.path(source, Access::Read);
}
