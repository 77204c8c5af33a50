//! What the roles of a goal see: the variables of their templates, and what their agents may use.
//!
//! A role sees the goal, its own task and what that task and those above it declare as inputs, never the whole history:
//! what a prompt holds does not grow with the number of tasks. Large results are shown by their head and can be read on.

mod collect;
mod digest;
mod inputs;
mod joined;
mod not_applicable;
mod prompt_budget;

use crate::composite::goal::gather::Past;
use crate::composite::goal::outcome::{reason, status_word};
use crate::composite::goal::routing::recovery;
use crate::composite::goal::routing::tools;
use crate::composite::goal::state::{GoalState, ItemState};
use crate::context::{Names, Roots};
use crate::state::{End, State, TaskIx};
use crate::view::View;
use convoke_model::excerpt::{headed, read_by};
use convoke_model::hash::HashMap;
use convoke_model::synthesis::readable;
use convoke_model::{AgentCall, Failure, Piece, Role, TaskId};
use convoke_plan::{Goal, Text};
use digest::Pieces;
use inputs::not_shown;
use prompt_budget::Room;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A result as a prompt shows it.
pub(in crate::composite::goal) struct Seen {
    task: TaskIx,
    summary: String,
    text: String,
    /// Only its head is shown.
    pub cut: bool,
}

/// A role, the goal that it is for, and the task of it.
pub(in crate::composite::goal) struct RoleContext<'a> {
    pub role: Role,
    note: Option<&'a str>,
    goal_task: TaskIx,
    goal: &'a Goal,
    asker: TaskIx,
    state: GoalState<'a>,
    /// The task's place among the goal's tasks.
    at: Option<usize>,
    /// What stands in the place of the tasks' results: digests and parts of them. `None` where the results do.
    pieces: Option<Vec<Piece>>,
    /// Whether the role can read what is shown in part.
    pub reads_on: bool,
    /// What the window of the model leaves to each list.
    pub room: Room,
}

impl View<'_> {
    /// The variables of a role's templates; nothing for other tasks.
    pub(crate) fn add_role_names(
        &self,
        task: TaskIx,
        roots: &Roots,
        names: &mut Names,
    ) -> Result<(), Failure> {
        let Some(cx) = self.role_context(task) else { return Ok(()) };
        let goal = self.render(cx.goal_task, &cx.goal.goal, "goal")?;
        let context = cx.goal.context.as_ref();
        let stated = |text: &Text| self.render(cx.goal_task, text, "context");
        let context = context.map(stated).transpose()?.unwrap_or_default();
        let mut put = |name: &'static str, value: &dyn Fn() -> Json| {
            if roots.want(name) {
                names.insert(name.into(), not_applicable::value_of(name, &value()));
            }
        };
        put("goal", &|| json!(goal));
        put("context", &|| json!(context));
        put("guidance", &|| json!(self.guidance));
        put("note", &|| json!(cx.note().map(|note| cx.room.note(note))));
        put("item", &|| cx.item());
        put("tools", &|| json!(self.prompt_tools(task, &cx)));
        put("bounds", &|| cx.bounds());
        put("skip_threshold", &|| json!(cx.goal.skip_threshold));
        put("actions", &|| json!(cx.actions()));
        put("failure", &|| self.prompt_failure(&cx));
        put("tasks", &|| self.prompt_tasks(&cx));
        put("results", &|| self.prompt_results(&cx));
        put("children", &|| self.prompt_children(&cx));
        Ok(())
    }

    pub(in crate::composite::goal) fn role_context(&self, task: TaskIx) -> Option<RoleContext<'_>> {
        let (role, note) = self.goal_role(task)?;
        let asker = self.tasks[task].place.within?;
        let (goal_task, goal) = self.goal_of(asker)?;
        let pieces = match role {
            Role::Collect => self.pieces_of(task).map(<[Piece]>::to_vec),
            Role::Reconcile | Role::Finalise => self.last_pieces(asker),
            _ => None,
        };
        let looked_at = self.looked_at_by(role, asker, pieces.as_deref().unwrap_or_default());
        let past = match role {
            Role::Collect => Past::Listed(&looked_at),
            _ if asker == goal_task => Past::Whole,
            _ => Past::Of(&looked_at),
        };
        let state = self.goal_state(goal_task, goal, past, Some(self.outputs));
        let at = state.find(&self.tasks[asker].id);
        let reads_on = self.can_read_on(task);
        let room =
            self.room_of(task, self.tasks[task].node).map_or_else(|| Room::within(u64::MAX), Room::within);
        Some(RoleContext { role, note, goal_task, goal, asker, state, at, pieces, reads_on, room })
    }

    /// Gives a role's call what belongs to its task alone: the tools, the choices that are left, what can be read on.
    pub(crate) fn put_role(&self, task: TaskIx, mut call: AgentCall) -> AgentCall {
        let Some(cx) = self.role_context(task) else { return call };
        let mut settings = (*call.settings).clone();
        if let Some(item) = cx.own().filter(|_| cx.role.works()) {
            let strategy = self.tasks[task].progress.as_ref().and_then(|progress| progress.strategy);
            if let Some(tools) = tools::for_task(&cx.state, item, strategy) {
                // Models chose among the tools that the file lists; that lists none by its name.
                let of_file = settings.tools.replace(tools).unwrap_or_default();
                settings.approvals.listed.get_or_insert(of_file);
            }
        }
        if cx.role == Role::Recover
            && let Some(field) = settings.schema.as_mut().and_then(|schema| schema.fields.get_mut("strategy"))
        {
            field.choices = Some(cx.actions().into_iter().map(Json::from).collect());
        }
        call.settings = Arc::new(settings);
        if cx.reads_on {
            let mut cut = self.cut_results(&cx);
            cut.extend(self.pieces_of_role(&cx, cut.len()).kept);
            call.kept.extend(cut.into_iter().filter_map(|task| self.kept_whole(task)));
        }
        call
    }

    /// The results of which only heads are shown, in the order of their names.
    fn cut_results(&self, cx: &RoleContext<'_>) -> Vec<TaskIx> {
        self.seen(cx).into_iter().filter(|seen| seen.cut).map(|seen| seen.task).collect()
    }

    /// What stands in the place of results; the names for reading on come after those of so many others.
    fn pieces_of_role(&self, cx: &RoleContext<'_>, names: usize) -> Pieces {
        let pieces = cx.pieces.as_deref().unwrap_or_default();
        self.prompt_pieces(&cx.state, pieces, cx.room, cx.reads_on.then_some(names))
    }

    /// The results that a role is shown, in order: what the task builds on, and the children that are put together or that
    /// the answer is made of. Neither takes room from the other.
    fn seen(&self, cx: &RoleContext<'_>) -> Vec<Seen> {
        let inputs = self.prompt_inputs(cx);
        let mut seen = self.seen_of(cx, inputs.tasks, inputs.all, 0);
        let cut = seen.iter().filter(|seen| seen.cut).count();
        let children = self.with_results(cx.children_in_prompt().into_iter().map(|child| &child.id));
        seen.extend(self.seen_of(cx, children, cx.room.all, cut));
        seen
    }

    /// Results that share so many bytes; the names for reading on come after those of so many others.
    pub(in crate::composite::goal) fn seen_of(
        &self,
        cx: &RoleContext<'_>,
        done: Vec<TaskIx>,
        all: usize,
        names: usize,
    ) -> Vec<Seen> {
        let said: Vec<Json> = done.iter().map(|task| self.json_of(*task)).collect();
        let texts: Vec<String> =
            said.iter().map(|said| readable(said.get("result").unwrap_or(&Json::Null))).collect();
        let heads = cx.room.heads(&texts, cx.reads_on, all);
        let mut number = names;
        let seen = done.into_iter().zip(&said).zip(texts.into_iter().zip(heads));
        seen.map(|((task, said), (text, head))| {
            let (summary, cut) =
                (crate::composite::goal::planning::answer::words(said, "summary"), head < text.len());
            number += usize::from(cut);
            let name = cx.reads_on.then_some(number);
            Seen { task, summary, text: if cut { headed(&text, head, read_by(name)) } else { text }, cut }
        })
        .collect()
    }

    fn prompt_results(&self, cx: &RoleContext<'_>) -> Json {
        let is_built_on = |seen: &Seen| cx.builds_on().contains(&self.tasks[seen.task].id);
        let seen = self.seen(cx).into_iter().filter(is_built_on);
        let further = Some(self.prompt_inputs(cx).further).filter(|further| *further > 0);
        seen.map(|seen| self.seen_value(cx, &seen)).chain(further.map(not_shown)).collect()
    }

    fn prompt_children(&self, cx: &RoleContext<'_>) -> Json {
        if !cx.shows_children() {
            return json!([]);
        }
        if cx.pieces.is_some() {
            let names = self.cut_results(cx).len();
            let pieces = self.pieces_of_role(cx, names).entries;
            return cx.missing_children().into_iter().chain(pieces).collect();
        }
        let seen = self.seen(cx);
        let seen: HashMap<&TaskId, &Seen> =
            seen.iter().map(|seen| (&self.tasks[seen.task].id, seen)).collect();
        let child = |child: &ItemState<'_>| {
            let (summary, result) = match seen.get(&child.id) {
                Some(seen) => (seen.summary.clone(), seen.text.clone()),
                None => (reason(child), String::new()),
            };
            json!({
                "id": cx.state.short(&child.id), "description": cx.room.line(&child.item.description),
                "status": status_word(child), "summary": cx.room.line(&summary), "result": result,
                "proof": proof_word(child),
            })
        };
        cx.children().into_iter().map(child).collect()
    }

    /// The tasks right below the goal, and what went wrong further down. Where they are too many, those that are missing
    /// come first and the rest is counted.
    fn prompt_tasks(&self, cx: &RoleContext<'_>) -> Json {
        let counts = |item: &&ItemState<'_>| {
            item.parent.is_none() || matches!(item.ended(), Some(End::Failed | End::Skipped | End::Cancelled))
        };
        let summary = |item: &ItemState<'_>| {
            let output = self.tasks.find(&item.id).filter(|task| self.tasks[*task].succeeded());
            output.map(|task| crate::composite::goal::planning::answer::words(&self.json_of(task), "summary"))
        };
        let row = |item: &&ItemState<'_>| {
            [item.item.description.clone(), summary(item).unwrap_or_default(), reason(item)]
        };
        let shown = |listed: Vec<&ItemState<'_>>| -> Vec<Json> {
            let mut rows: Vec<[String; 3]> = listed.iter().map(row).collect();
            cx.room.shorten(&mut rows);
            listed.iter().zip(rows).map(|(item, row)| listed_value(cx, item, row)).collect()
        };
        let mut listed: Vec<&ItemState<'_>> = cx.state.items.iter().filter(counts).collect();
        if cx.pieces.is_some() {
            let counted = counted(&listed, cx.room.shown());
            listed.retain(|item| item.ended() != Some(End::Succeeded));
            listed.truncate(cx.room.shown());
            return shown(listed).into_iter().chain([counted]).collect();
        }
        let further = listed.len().saturating_sub(cx.room.shown());
        if further > 0 {
            listed.sort_by_key(|item| item.ended() == Some(End::Succeeded));
            listed.truncate(cx.room.shown());
        }
        shown(listed).into_iter().chain((further > 0).then(|| not_listed(further))).collect()
    }
}

impl State {
    /// A role that puts results together sees why each of them is as it is; every other role sees one task.
    fn looked_at_by(&self, role: Role, asker: TaskIx, pieces: &[Piece]) -> Vec<TaskIx> {
        let members = || self.tasks[asker].group.iter().flat_map(|group| &group.members).copied();
        let mut all = vec![asker];
        match role {
            Role::Reconcile => all.extend(members()),
            Role::Collect => {
                all.extend(pieces.iter().filter_map(|piece| self.tasks.find(&piece.task)));
                all.retain(|task| self.item_of(*task).is_some());
            }
            _ => {}
        }
        all.sort_unstable();
        all
    }

    pub(in crate::composite::goal) fn with_results<'i>(
        &self,
        ids: impl Iterator<Item = &'i TaskId>,
    ) -> Vec<TaskIx> {
        ids.filter_map(|id| self.tasks.find(id)).filter(|task| self.tasks[*task].succeeded()).collect()
    }

    fn seen_value(&self, cx: &RoleContext<'_>, seen: &Seen) -> Json {
        let description = self.item_of(seen.task).map(|item| item.description.as_str()).unwrap_or_default();
        json!({
            "id": cx.state.short(&self.tasks[seen.task].id), "description": cx.room.line(description),
            "summary": cx.room.line(&seen.summary), "result": seen.text,
        })
    }

    fn prompt_failure(&self, cx: &RoleContext<'_>) -> Json {
        let Some(failure) = cx.own().and_then(|item| recovery::last_failure(&cx.state, item)) else {
            return Json::Null;
        };
        let attempts = |member: &TaskIx| self.tasks[*member].attempts;
        let members = self.tasks[cx.asker].group.iter().flat_map(|group| &group.members);
        let work = members.filter(|member| {
            matches!(self.goal_role(**member), Some((Role::Execute | Role::Rescue | Role::Reconcile, _)))
        });
        let tried: Vec<&str> =
            cx.own().map_or(&[][..], |item| item.tried).iter().map(|action| action.word()).collect();
        json!({
            "class": failure.class.word(), "message": cx.room.note(&failure.message),
            "attempts": work.map(attempts).sum::<u32>(), "strategies": tried,
        })
    }

    fn prompt_tools(&self, task: TaskIx, cx: &RoleContext<'_>) -> Vec<String> {
        let strategy = self.tasks[task].progress.as_ref().and_then(|progress| progress.strategy);
        let own = cx.own().filter(|_| cx.role.works());
        own.and_then(|item| tools::for_task(&cx.state, item, strategy))
            .unwrap_or_else(|| cx.goal.tools.clone())
    }
}

/// A task in a list.
fn listed_value(
    cx: &RoleContext<'_>,
    item: &ItemState<'_>,
    [description, summary, reason]: [String; 3],
) -> Json {
    json!({
        "id": cx.state.short(&item.id), "description": description, "status": status_word(item),
        "summary": summary, "reason": reason, "proof": proof_word(item),
    })
}

/// What stands behind the word of the agent that a task is done.
fn proof_word(item: &ItemState<'_>) -> &'static str {
    match item.ended() {
        Some(End::Succeeded) if item.proven => "proven",
        Some(End::Succeeded) => "not proven",
        _ => "",
    }
}

/// The last line of a list that does not hold all tasks.
fn not_listed(further: usize) -> Json {
    let description =
        format!("{further} further tasks, which are not listed; those that are missing come first");
    json!({ "id": "…", "description": description, "status": "not listed", "summary": "", "reason": "", "proof": "" })
}

/// The last line of a list of tasks whose results were put together before: all of them by number.
fn counted(all: &[&ItemState<'_>], most: usize) -> Json {
    let ended = |end: End| all.iter().filter(|item| item.ended() == Some(end)).count();
    let description = format!(
        "{} tasks in all: {} succeeded, {} failed, {} skipped, {} stopped; what they came to was put together \
         before, and those of which there is no result are listed, up to {}",
        all.len(),
        ended(End::Succeeded),
        ended(End::Failed),
        ended(End::Skipped),
        ended(End::Cancelled),
        most,
    );
    json!({ "id": "…", "description": description, "status": "counted", "summary": "", "reason": "", "proof": "" })
}

impl<'a> RoleContext<'a> {
    /// Of a task whose parts were put together before: those of which there is no result.
    fn missing_children(&self) -> Vec<Json> {
        let missing = |child: &&ItemState<'_>| child.ended() != Some(End::Succeeded);
        let own = if self.role == Role::Reconcile { self.children() } else { Vec::new() };
        let own: Vec<&ItemState<'_>> = own.into_iter().filter(missing).take(self.room.shown()).collect();
        let row = |child: &&ItemState<'_>| [child.item.description.clone(), reason(child), String::new()];
        let mut rows: Vec<[String; 3]> = own.iter().map(row).collect();
        self.room.shorten(&mut rows);
        let shown = |(child, [description, why, _]): (&&ItemState<'_>, [String; 3])| {
            json!({
                "id": self.state.short(&child.id), "description": description,
                "status": status_word(child), "summary": why, "result": "",
            })
        };
        own.iter().zip(rows).map(shown).collect()
    }

    fn own(&self) -> Option<&ItemState<'a>> {
        self.at.map(|at| &self.state.items[at])
    }

    /// Whether what tasks came to is put together here.
    fn shows_children(&self) -> bool {
        matches!(self.role, Role::Reconcile | Role::Finalise | Role::Collect)
    }

    /// The tasks that are put together: those of the task, or those of the goal.
    fn children(&self) -> Vec<&ItemState<'a>> {
        match self.own() {
            Some(item) => item.batch(&self.state).into_iter().map(|child| &self.state.items[child]).collect(),
            None => self.top_tasks(),
        }
    }

    /// The tasks right below the goal; where they are too many, those that have results.
    fn top_tasks(&self) -> Vec<&ItemState<'a>> {
        let all: Vec<&ItemState<'a>> = self.state.top().collect();
        let few = all.len() <= self.room.shown();
        let has_result = |item: &&ItemState<'_>| few || item.ended() == Some(End::Succeeded);
        all.into_iter().filter(has_result).take(self.room.shown()).collect()
    }

    /// The note of this question, else of the task.
    fn note(&self) -> Option<&str> {
        self.note.or_else(|| self.own()?.item.note.as_deref())
    }

    /// What the task builds on.
    pub fn builds_on(&self) -> &[TaskId] {
        self.own().map_or(&[], |item| &item.builds_on)
    }

    /// The children whose results are shown.
    fn children_in_prompt(&self) -> Vec<&ItemState<'a>> {
        if self.shows_children() && self.pieces.is_none() { self.children() } else { Vec::new() }
    }

    fn item(&self) -> Json {
        let Some(own) = self.own() else { return Json::Null };
        let inputs: Vec<&str> = own.item.inputs.iter().map(|id| self.state.short(id)).collect();
        json!({
            "id": self.state.short(&own.id), "description": own.item.description, "depth": own.item.depth,
            "inputs": inputs, "tools": own.item.tools,
        })
    }

    fn bounds(&self) -> Json {
        let bounds = self.goal.bounds;
        let left = self.state.tasks_left();
        let (depth_left, children) = match self.own() {
            Some(item) => {
                let room = bounds.max_children.saturating_sub(item.children());
                (bounds.max_depth.saturating_sub(item.item.depth), room.min(left))
            }
            None => (bounds.max_depth, left),
        };
        json!({
            "depth_left": depth_left, "children": children, "tasks_left": left,
            "rounds_left": bounds.max_rounds.saturating_sub(self.state.rounds),
        })
    }

    fn actions(&self) -> Vec<&'static str> {
        let ways = self.at.filter(|_| self.role == Role::Recover).map(|at| recovery::ways(&self.state, at));
        ways.unwrap_or_default().into_iter().map(|action| action.word()).collect()
    }
}
