//! `apply_patch`: changes of several files, all or none.

use super::arguments::text;
use super::{Call, Done};
use convoke_files::patch::{Action, FilePatch, Problem, apply, read};
use convoke_files::{Change, Place, Refusal};
use std::collections::BTreeMap;

pub(super) fn perform(call: &Call) -> Done {
    let patches =
        read(text(&call.arguments, "patch").unwrap_or_default()).map_err(|error| error.to_string())?;
    let mut plain = Vec::with_capacity(patches.len());
    for patch in patches {
        plain.push(placed(call, patch).map_err(|refusal| format!("nothing was changed: {refusal}"))?);
    }
    let mut places: Vec<Place> = Vec::new();
    for path in plain.iter().flat_map(FilePatch::paths) {
        let place = call.root.place(path).map_err(|refusal| refusal.to_string())?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let changed = call.root.change_all(&places, |contents| {
        let before: BTreeMap<&str, &Option<Vec<u8>>> =
            places.iter().map(Place::as_str).zip(contents).collect();
        let after = apply(&plain, |path| before.get(path).and_then(|content| (*content).clone()))?;
        let change = |(path, content): (String, Option<Vec<u8>>)| {
            let place = call.root.place(&path).expect("it was one before");
            // What was made and removed again, or never there, needs no change.
            let is_needed =
                content.is_some() || before.get(path.as_str()).is_some_and(|content| content.is_some());
            is_needed.then_some(Change { place, content })
        };
        Ok::<_, Wrong>(after.into_iter().filter_map(change).collect())
    });
    match changed {
        Ok(_) => Ok(plain.iter().map(told).collect::<Vec<_>>().join("\n")),
        Err(Wrong(why)) => Err(format!("nothing was changed:\n{why}")),
    }
}

/// The patch with paths from the root, in their plain form.
fn placed(call: &Call, patch: FilePatch) -> Result<FilePatch, Refusal> {
    let plain = |path: &str| Ok::<_, Refusal>(call.root.place(path)?.as_str().to_owned());
    let action = match patch.action {
        Action::Update { to, hunks } => Action::Update { to: to.as_deref().map(plain).transpose()?, hunks },
        action => action,
    };
    Ok(FilePatch { path: plain(&patch.path)?, action })
}

/// Why nothing was changed.
struct Wrong(String);

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Wrong {
        Wrong(refusal.to_string())
    }
}

impl From<Vec<Problem>> for Wrong {
    fn from(problems: Vec<Problem>) -> Wrong {
        let told = problems.iter().map(|problem| format!("`{}`: {}", problem.path, problem.why));
        Wrong(told.collect::<Vec<_>>().join("\n"))
    }
}

fn told(patch: &FilePatch) -> String {
    match &patch.action {
        Action::Add(_) => format!("added {}", patch.path),
        Action::Delete => format!("deleted {}", patch.path),
        Action::Update { to: Some(to), .. } => format!("moved {} to {to}", patch.path),
        Action::Update { to: None, hunks } => {
            format!(
                "changed {} ({} {})",
                patch.path,
                hunks.len(),
                if hunks.len() == 1 { "place" } else { "places" }
            )
        }
    }
}
