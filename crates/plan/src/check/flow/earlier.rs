//! Names of steps whose outputs a step works on: each must exist and be able to have run.

use super::super::outline::Outline;
use super::super::reach::Reach;
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::workflow::Step;
use crate::suggest;

/// A step, and from where it looks at what has run.
pub(in crate::check) struct Who<'a> {
    /// The step.
    pub step: &'a Step,
    /// Its item, or the fan-out whose inline body it is.
    pub at: usize,
    /// Whether it is such a body.
    pub is_inline: bool,
    /// How messages call it.
    pub owner: String,
}

/// Every step of an outline, bodies of fan-outs last.
pub(in crate::check) fn steps<'a>(outline: &Outline<'a>) -> Vec<Who<'a>> {
    let listed = outline.workflow.agents.iter().enumerate().map(|(at, step)| Who {
        step,
        at,
        is_inline: false,
        owner: format!("step `{}`", step.name.value),
    });
    let inline = outline.inline().map(|(at, step)| Who {
        step,
        at,
        is_inline: true,
        owner: format!("inline agent `{}` of `{}`", step.name.value, outline.name(at)),
    });
    listed.chain(inline).collect()
}

/// Follows such names through one outline.
pub(in crate::check) struct Earlier<'a, 'b> {
    pub outline: &'b Outline<'a>,
    pub reach: &'b Reach,
}

impl Earlier<'_, '_> {
    /// The item that a name stands for; nothing, and a finding, where it cannot have run.
    pub fn find(
        &self,
        who: &Who<'_>,
        key: &str,
        name: &Spanned<String>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<usize> {
        let Some(ix) = self.outline.find(&name.value) else {
            findings.push(self.unknown(who, key, name));
            return None;
        };
        if self.can_have_run(who, ix) {
            return Some(ix);
        }
        findings.push(self.never_before(who, key, name, ix));
        None
    }

    /// A step that never runs may say what it likes; no step works on its own output.
    fn can_have_run(&self, who: &Who<'_>, ix: usize) -> bool {
        let is_itself = !who.is_inline && ix == who.at;
        !is_itself && (!self.reach.runs(who.at) || self.reach.can_precede(ix, who.at))
    }

    fn unknown(&self, who: &Who<'_>, key: &str, name: &Spanned<String>) -> Diagnostic {
        let available: Vec<&str> = self.outline.items.iter().map(|item| item.name().value.as_str()).collect();
        let message = format!("{}: `{key}` names `{}`, which is not in this workflow", who.owner, name.value);
        let place = name.span.clone();
        Diagnostic::error("workflow::unknown_reference", message, place, "no step or group has this name")
            .help(suggest::instead(&name.value, &available))
    }

    fn never_before(&self, who: &Who<'_>, key: &str, name: &Spanned<String>, ix: usize) -> Diagnostic {
        let message = format!("{}: `{key}` names `{}`, which cannot have run by then", who.owner, name.value);
        let item = self.outline.items[ix];
        Diagnostic::error("workflow::never_before", message, name.span.clone(), "has no output here")
            .also(item.name().span.clone(), format!("`{}` stands here", name.value))
            .help(self.why_not(who, ix))
    }

    fn why_not(&self, who: &Who<'_>, ix: usize) -> String {
        let (name, parents) = (self.outline.name(ix), &self.outline.parents);
        let siblings = parents[who.at].iter().any(|group| parents[ix].contains(group));
        match parents[ix].first() {
            _ if ix == who.at => "a step does not work on its own output".to_owned(),
            _ if siblings => format!("members run side by side; add `needs: [{name}]` to let it run first"),
            Some(group) => {
                format!("members have their outputs in their group: name `{}`", self.outline.name(*group))
            }
            None => "no route or need leads from it to here; add it to `needs`".to_owned(),
        }
    }
}
