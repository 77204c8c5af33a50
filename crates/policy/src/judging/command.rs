//! A whole command text: read, walked through pipeline by pipeline, put together to one plan and one judgement.

use super::call::{Said, Scene};
use super::directory::{Directories, End};
use super::listed::Listed;
use super::place;
use crate::authority::Question;
use crate::plan::{CommandPlan, PlannedPipeline, PlannedRedirect};
use crate::policy::Policy;
use crate::reading::script::{Pipeline, Redirect, RedirectKind, Script};
use crate::reading::{Reading, read};
use crate::verdict::{Judgement, OnViolation, Reason, Rule, Verdict};
use crate::world::{Access, Place, World};
use std::collections::HashSet;
use std::path::Path;

/// Reasons that a person reads of one text. With more of them it is denied, and the rest is not looked at.
const MAX_REASONS: usize = 64;

impl Policy {
    /// May this command run, in this folder?
    pub fn judge(&self, command: &str, cwd: &Path, world: &dyn World) -> Judgement {
        match read(command, self.limits.caps()) {
            Reading::Refused(why) => self.conclude(vec![Reason::new(Rule::Text, why)], None, Vec::new()),
            Reading::Complex(why) => {
                let mut reasons = vec![Reason::new(Rule::Complex, why)];
                reasons.extend(self.denied_somewhere(command));
                self.conclude(reasons, None, Vec::new())
            }
            Reading::Plain(script) => self.script(&script, cwd, world),
        }
    }

    fn conclude(
        &self,
        mut reasons: Vec<Reason>,
        plan: Option<CommandPlan>,
        questions: Vec<Question>,
    ) -> Judgement {
        let opinions = match &self.authority {
            Some(authority) => authority.ask(&self.actor, questions, &mut reasons),
            None => Vec::new(),
        };
        if reasons.len() > 1 {
            let mut seen = HashSet::with_capacity(reasons.len());
            reasons.retain(|reason| seen.insert(reason.clone()));
        }
        // Where something is denied, what cannot be seen through may hide it.
        let hides = |reason: &Reason| match reason.rule {
            Rule::Complex | Rule::Argument if self.authority.is_some() => true,
            Rule::Complex => !self.binaries.deny.is_empty(),
            Rule::Argument | Rule::Environment => !self.binaries.deny.is_empty() && self.allows_all(),
            _ => false,
        };
        let otherwise = if reasons.iter().any(hides) { OnViolation::HardAbort } else { self.on_violation };
        self.concluded(Judgement { opinions, ..Judgement::from_reasons(reasons, otherwise, plan) })
    }

    /// What a denial comes to.
    pub(super) fn concluded(&self, judgement: Judgement) -> Judgement {
        let aborts = judgement.verdict == Verdict::Deny && self.on_violation == OnViolation::HardAbort;
        Judgement { aborts, ..judgement }
    }

    /// Deny rules whose program is named anywhere in a text that is not plain.
    fn denied_somewhere(&self, text: &str) -> Option<Reason> {
        let words: Vec<&str> =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).collect();
        let found = self.binaries.deny.iter().find(|rule| {
            let mut parts = rule.split(' ');
            parts.all(|part| words.contains(&part))
        });
        found.map(|rule| {
            Reason::new(Rule::Denied, format!("the command names `{rule}`, which `binaries.deny` denies"))
        })
    }

    fn script(&self, script: &Script<'_>, cwd: &Path, world: &dyn World) -> Judgement {
        let mut walk = Walk {
            policy: self,
            world,
            listed: Listed::of(&self.binaries),
            plan: CommandPlan::default(),
            reasons: Vec::new(),
            questions: Vec::new(),
            tree_changed: false,
        };
        let start = match world.resolve(cwd, Access::Look).place {
            Place::Beneath(path) => world.root().join(path).components().collect::<std::path::PathBuf>(),
            Place::Outside => {
                let why = format!(
                    "the working directory `{}` is not in `{}`",
                    cwd.display(),
                    world.root().display()
                );
                return self.conclude(vec![Reason::new(Rule::Text, why)], None, Vec::new());
            }
        };
        let mut directories = Directories::new(start.display().to_string());
        for pipeline in &script.pipelines {
            let folder = match directories.folder(pipeline.join) {
                Some(folder) => folder.to_owned(),
                None => {
                    walk.reasons.push(Reason::new(
                        Rule::Complex,
                        "in which folder a command runs depends on whether an earlier `cd` succeeds; join them with &&",
                    ));
                    break;
                }
            };
            let end = walk.pipeline(pipeline, &folder);
            directories.after(pipeline.join, &end);
            if walk.reasons.len() > MAX_REASONS {
                walk.reasons.push(Reason::new(
                    Rule::Text,
                    format!("more than {MAX_REASONS} parts of the text are not allowed; run it in parts"),
                ));
                break;
            }
        }
        let Walk { plan, reasons, questions, .. } = walk;
        self.conclude(reasons, Some(plan), questions)
    }
}

struct Walk<'a> {
    policy: &'a Policy,
    world: &'a dyn World,
    listed: Listed<'a>,
    plan: CommandPlan,
    reasons: Vec<Reason>,
    questions: Vec<Question>,
    tree_changed: bool,
}

impl Walk<'_> {
    fn pipeline(&mut self, pipeline: &Pipeline<'_>, folder: &str) -> End {
        let mut end = End::Any;
        let mut commands = Vec::new();
        let alone = pipeline.commands.len() == 1;
        for simple in &pipeline.commands {
            let scene = Scene {
                policy: self.policy,
                world: self.world,
                listed: &self.listed,
                folder,
                tree_changed: self.tree_changed,
            };
            let mut said = scene.call(simple);
            for redirect in &simple.redirects {
                self.redirect(redirect, folder, &mut said);
            }
            end = match (&said.enters, said.always) {
                // In a pipeline each command has a shell of its own.
                (Some(_), _) if !alone => {
                    said.reasons.push(Reason::new(
                        Rule::Complex,
                        "`cd` in a pipeline changes nothing; put && behind it",
                    ));
                    End::Any
                }
                (Some((to, certain)), _) => {
                    End::Enters(to.clone(), *certain && !self.tree_changed && simple.redirects.is_empty())
                }
                (None, Some(succeeded)) if alone && said.command.redirects.is_empty() => {
                    End::Always(succeeded)
                }
                _ => End::Any,
            };
            self.plan.writes.append(&mut said.writes);
            self.plan.hosts.append(&mut said.hosts);
            self.plan.runs_project_code |= said.runs_project_code;
            self.tree_changed |= said.changes_tree;
            self.reasons.append(&mut said.reasons);
            self.questions.append(&mut said.questions);
            commands.push(said.command);
        }
        self.plan.pipelines.push(PlannedPipeline { join: pipeline.join, commands });
        end
    }

    fn redirect(&self, redirect: &Redirect<'_>, folder: &str, said: &mut Said) {
        let fd = |usual: u8| redirect.descriptor.unwrap_or(usual);
        let planned = match &redirect.kind {
            RedirectKind::Read(word) => self
                .file(&word.text, Access::Read, folder, said)
                .map(|path| vec![PlannedRedirect::Read { fd: fd(0), path }]),
            RedirectKind::Write(word, _) => self
                .file(&word.text, Access::Write, folder, said)
                .map(|path| vec![PlannedRedirect::Write { fd: fd(1), path }]),
            RedirectKind::Append(word) => self
                .file(&word.text, Access::Write, folder, said)
                .map(|path| vec![PlannedRedirect::Append { fd: fd(1), path }]),
            RedirectKind::Both(word, operator) => {
                self.file(&word.text, Access::Write, folder, said).map(|path| {
                    let first = match *operator {
                        "&>>" => PlannedRedirect::Append { fd: 1, path },
                        _ => PlannedRedirect::Write { fd: 1, path },
                    };
                    vec![first, PlannedRedirect::Copy { fd: 2, from: 1 }]
                })
            }
            RedirectKind::Copy(from) => Some(vec![PlannedRedirect::Copy { fd: fd(1), from: *from }]),
            RedirectKind::Close => Some(vec![PlannedRedirect::Close { fd: fd(1) }]),
            RedirectKind::Document(_, text, _) => {
                Some(vec![PlannedRedirect::Text { fd: fd(0), text: text.clone() }])
            }
            RedirectKind::Text(word) => {
                Some(vec![PlannedRedirect::Text { fd: fd(0), text: format!("{}\n", word.text) }])
            }
        };
        said.command.redirects.extend(planned.into_iter().flatten());
    }

    /// The file of a redirect, absolute.
    fn file(&self, text: &str, access: Access, folder: &str, said: &mut Said) -> Option<String> {
        if text.is_empty() {
            said.reasons.push(Reason::new(Rule::Text, "a redirect has an empty target"));
            return None;
        }
        match place::judge(self.policy, self.world, Path::new(folder), text, access) {
            Err(reason) => {
                said.reasons.push(reason);
                None
            }
            Ok(None) => Some("/dev/null".to_owned()),
            Ok(Some(found)) => {
                let path = self.world.root().join(&found.beneath).display().to_string();
                if self.tree_changed {
                    let why = format!(
                        "an earlier command may put something else at `{text}`; run this in a command of its own"
                    );
                    said.reasons.push(Reason::new(Rule::Path, why));
                }
                said.asks_about_path(self.policy, &found.beneath, access);
                if access.changes() {
                    said.writes.insert(path.clone());
                }
                Some(path)
            }
        }
    }
}
