//! Which names a text refers to, so that only those are built.

use crate::state::{State, TaskIx};
use convoke_plan::template::{ConditionId, TemplateId, parse_condition, parse_template};
use std::sync::Arc;

/// What a pipeline keeps.
const STATE: &str = "state";

/// The first names of everything that a text refers to.
#[derive(Debug)]
pub enum Roots {
    /// It may refer to anything (it includes other texts).
    All,
    /// Exactly these.
    Names(Vec<Arc<str>>),
}

impl Roots {
    pub(crate) fn want(&self, name: &str) -> bool {
        match self {
            Roots::All => true,
            Roots::Names(names) => names.iter().any(|wanted| &**wanted == name),
        }
    }

    /// Whether the text may look at the history of what a pipeline keeps.
    pub(crate) fn want_history(&self) -> bool {
        let Roots::Names(names) = self else { return true };
        let mut below = names.iter().filter_map(|name| name.strip_prefix("state.")).peekable();
        self.want(STATE) && (below.peek().is_none() || below.any(|name| matches!(name, "*" | "history")))
    }
}

impl State {
    pub(crate) fn template_roots(&self, id: TemplateId) -> Arc<Roots> {
        // Words before the first tag refer to nothing.
        let id = self.renderer.alike(id);
        let mut known = self.values.template_roots.borrow_mut();
        known[id.0 as usize].get_or_insert_with(|| Arc::new(self.find_template_roots(id))).clone()
    }

    fn find_template_roots(&self, id: TemplateId) -> Roots {
        if let Some(paths) = self.renderer.plain_paths(id) {
            return roots_of(paths);
        }
        let source = &self.plan.templates[id.0 as usize];
        match parse_template(&source.text, source.base.as_deref(), &self.plan.partials) {
            Ok(parsed) if parsed.includes().is_empty() => {
                roots_of(parsed.references().iter().map(|r| &*r.path))
            }
            _ => Roots::All,
        }
    }

    pub(crate) fn condition_roots(&self, id: ConditionId) -> Arc<Roots> {
        let mut known = self.values.condition_roots.borrow_mut();
        known[id.0 as usize]
            .get_or_insert_with(|| {
                let text = &self.plan.conditions[id.0 as usize].text;
                Arc::new(match parse_condition(text) {
                    Ok(parsed) => roots_of(parsed.references().iter().map(|r| &*r.path)),
                    Err(_) => Roots::All,
                })
            })
            .clone()
    }

    /// A condition may say `writer_output` for `writer.output`: the names behind such names are wanted as well.
    pub(crate) fn with_flattened(&self, task: TaskIx, roots: &Roots) -> Roots {
        let Roots::Names(names) = roots else { return Roots::All };
        let mut all = names.clone();
        let index = self.index_in(self.tasks[task].place.frame);
        for name in names {
            let cuts = name.match_indices('_').map(|(at, _)| &name[..at]);
            for head in cuts {
                if let Some((known, _)) = index.by_name.get_key_value(head) {
                    all.push(known.clone());
                }
                if matches!(head, "workflow" | "context" | "output") {
                    all.push(head.into());
                }
            }
        }
        Roots::Names(all)
    }
}

/// Of what a pipeline keeps also the names below it: its history is long, and few texts look at it.
fn roots_of<'a, S: AsRef<str> + 'a>(paths: impl Iterator<Item = &'a [S]>) -> Roots {
    let mut names: Vec<Arc<str>> = Vec::new();
    for path in paths {
        let mut path = path.iter().map(AsRef::as_ref);
        let Some(first) = path.next() else { continue };
        names.push(first.into());
        if first == STATE {
            names.push(format!("{STATE}.{}", path.next().unwrap_or("*")).into());
        }
    }
    names.sort();
    names.dedup();
    Roots::Names(names)
}
