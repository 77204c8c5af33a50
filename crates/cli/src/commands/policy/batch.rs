//! `convoke policy check --batch`: a line of JSON in, a line of JSON out.
//!
//! A line that is none is denied like a command that is none, so that no line stays without an answer.

use super::world::Disk;
use super::{judge, load};
use crate::args::PolicyCheckArgs;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_policy::{Access, Actor, Judgement, Policy, Reason, Rule, Verdict};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Judges every line.
pub fn run(console: &Console, args: &PolicyCheckArgs, file: &Path) -> Result<Exit, CommandFailure> {
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|content| text = content),
    };
    read.map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("batch `{}` cannot be read: {error}", file.display()))
    })?;
    let policies = super::policies(console, args)?;
    let disk = Disk::at(args.root.as_deref())?;
    let actor = super::actor(args)?;
    let mut batch = Batch { console, policies, disk, actor, named: HashMap::new(), disks: HashMap::new() };
    let mut lines = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines.push_str(&batch.line(line).to_string());
        lines.push('\n');
    }
    console.json_lines(lines.trim_end_matches('\n'))?;
    Ok(Exit::Success)
}

struct Batch<'a> {
    console: &'a Console,
    policies: Vec<Policy>,
    disk: Disk,
    /// Who is asked about.
    actor: Actor,
    /// Policies that lines name, by what they write.
    named: HashMap<String, Policy>,
    disks: HashMap<PathBuf, Disk>,
}

impl Batch<'_> {
    fn line(&mut self, line: &str) -> Value {
        let (id, judgement) = match serde_json::from_str::<Value>(line) {
            Ok(case) => (case["id"].clone(), self.case(&case).unwrap_or_else(refused)),
            Err(error) => (Value::Null, refused(format!("the line is no JSON: {error}"))),
        };
        let Judgement { verdict, reasons, plan, aborts, opinions } = judgement;
        let mut said = json!({ "id": id, "verdict": verdict, "reasons": reasons, "plan": plan });
        if aborts {
            said["aborts"] = json!(true);
        }
        if !opinions.is_empty() {
            said["opinions"] = json!(opinions);
        }
        said
    }

    fn case(&mut self, case: &Value) -> Result<Judgement, String> {
        let policies = match &case["policy"] {
            Value::Null => self.policies.clone(),
            Value::Array(several) => several.iter().map(|one| self.policy(one)).collect::<Result<_, _>>()?,
            one => vec![self.policy(one)?],
        };
        let disk = match case["root"].as_str() {
            None => self.disk.clone(),
            Some(root) => self.disk(Path::new(root))?,
        };
        if let Some(command) = case["command"].as_str() {
            let cwd = case["cwd"].as_str().map(Path::new);
            return Ok(judge(&policies, command, cwd, &disk));
        }
        let Some(path) = case["path"].as_str() else {
            return Err("the line has neither `command` nor `path`".to_owned());
        };
        let access = match case["access"].as_str() {
            None | Some("read") => Access::Read,
            Some("write") => Access::Write,
            Some(other) => return Err(format!("`access` is `{other}`, expected read or write")),
        };
        let judgements = policies.iter().map(|policy| policy.judge_path(Path::new(path), access, &disk));
        Ok(judgements.reduce(Judgement::strictest).unwrap_or_else(Judgement::allowed))
    }

    /// A policy by its name, or written out in the line.
    fn policy(&mut self, written: &Value) -> Result<Policy, String> {
        let key = written.to_string();
        if let Some(known) = self.named.get(&key) {
            return Ok(known.clone());
        }
        let policy = match written.as_str() {
            Some(name) => load::policy(self.console, name),
            None => load::read(self.console, "the policy of a line", key.clone(), Path::new("")),
        };
        let policy = policy.map_err(|failure| failure.message)?.for_actor(self.actor.clone());
        self.named.insert(key, policy.clone());
        Ok(policy)
    }

    fn disk(&mut self, root: &Path) -> Result<Disk, String> {
        if let Some(known) = self.disks.get(root) {
            return Ok(known.clone());
        }
        let disk = Disk::at(Some(root)).map_err(|failure| failure.message)?;
        self.disks.insert(root.to_owned(), disk.clone());
        Ok(disk)
    }
}

fn refused(why: String) -> Judgement {
    let reasons = vec![Reason::new(Rule::Text, why)];
    Judgement { verdict: Verdict::Deny, reasons, ..Judgement::allowed() }
}
