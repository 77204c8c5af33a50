//! Workflows begin, go on along their routes, and come to an end.

use super::{Folded, IllegalEvent, illegal};
use crate::state::{Frame, FrameEnding, FrameIx, Place, Stage, State, TaskIx, TaskState, Todo};
use convoke_model::{Ending, HookPoint, Payload, RunStarted, TaskId};
use convoke_plan::{Hook, NodeIx, WorkflowIx};

impl State {
    pub(super) fn run_started(&mut self, started: &RunStarted) -> Folded {
        if !self.frames.is_empty() {
            return Err(illegal("run_started", "the run has started already"));
        }
        self.seed = started.seed;
        self.run = started.run.0.clone();
        self.folder.clone_from(&started.folder);
        self.skip_gates = started.skip_gates;
        self.frames.push(Frame::new(WorkflowIx(0), None, 0, started.inputs.clone()));
        self.begin_frame(FrameIx(0));
        Ok(())
    }

    /// A workflow begins: with its `on_start` step, if it has one, else with its entries.
    pub(super) fn begin_frame(&mut self, frame: FrameIx) {
        self.arm_frame(frame);
        match self.workflow_in(frame).hooks.on_start {
            Some(Hook::Run(node)) => self.add_hook(frame, node, HookPoint::OnStart),
            _ => self.enter(frame),
        }
        self.check_when_idle(frame);
    }

    pub(super) fn add_hook(&mut self, frame: FrameIx, node: NodeIx, hook: HookPoint) {
        let step = self.add_step(frame, node, &[]);
        self.tasks[step].hook = true;
        self.frame_mut(frame).hooks_begun.push(hook);
        self.make_ready(step);
    }

    pub(super) fn hook_started(&mut self, within: Option<&TaskId>, hook: HookPoint) -> Folded {
        let frame = self.frame_within(within, "hook_started")?;
        let hooks = &self.workflow_in(frame).hooks;
        let named = match hook {
            HookPoint::OnStart => None,
            HookPoint::OnComplete => hooks.on_complete.clone(),
            HookPoint::OnError => hooks.on_error.clone(),
        };
        let Some(Hook::Run(node)) = named else {
            return Err(illegal("hook_started", "the workflow has no such hook"));
        };
        self.frame_mut(frame).stage = Stage::Closing;
        self.add_hook(frame, node, hook);
        Ok(())
    }

    pub(super) fn hook_rendered(&mut self, within: Option<&TaskId>, hook: HookPoint) -> Folded {
        let frame = self.frame_within(within, "hook_rendered")?;
        self.frame_mut(frame).hooks_begun.push(hook);
        Ok(())
    }

    pub(super) fn frame_within(&self, within: Option<&TaskId>, what: &str) -> Result<FrameIx, IllegalEvent> {
        let frame = match within {
            None => Some(FrameIx(0)),
            Some(id) => self.tasks[self.known(id, what)?].frame,
        };
        frame
            .filter(|frame| (frame.0 as usize) < self.frames.len())
            .ok_or_else(|| illegal(what, "that workflow does not run"))
    }

    /// A new owner: attempts that the last one left running, or stopped in the middle, were cut off, whatever they did.
    pub(super) fn run_owned(&mut self) -> Folded {
        for task in self.tasks.indices() {
            if self.tasks[task].state == TaskState::Running || self.tasks[task].outcome_unknown {
                self.todo(Todo::Lost(task));
            }
        }
        Ok(())
    }

    /// These failed because the outcome of an attempt is unknown. It still is.
    pub(super) fn ask_before_repeating(&mut self, tasks: &[TaskId]) {
        for task in tasks.iter().filter_map(|id| self.tasks.find(id)).collect::<Vec<_>>() {
            if matches!(self.tasks[task].state, TaskState::Ready | TaskState::Failing) {
                self.tasks[task].outcome_unknown = true;
                self.tasks[task].asks_before_repeating = true;
                self.todo(Todo::Gone(task));
            }
        }
    }

    /// A reopened run gets its whole time again, and what is open again its whole number of attempts.
    pub(super) fn reopened(&mut self, tasks: &[TaskId], rewound: &[TaskId]) -> Folded {
        for id in tasks {
            if let Some(task) = self.tasks.find(id) {
                self.tasks[task].failures = 0;
                self.tasks[task].failure = None;
                // What a person said before it failed was about then: a resumed run asks again. Of a goal
                // the answers that led to its end are left out of the history.
                if !self.parks(task) {
                    self.tasks[task].answer = None;
                }
                self.edges_reopened(task);
                if let Some(composite) = self.own_composite(task) {
                    composite.reopened(self, task);
                }
            }
        }
        self.insist_on(rewound);
        self.renew_time(tasks);
        self.settle_places()
    }

    /// What begins anew is another instance of itself, though its name is the same.
    pub(super) fn restarted(&mut self, tasks: &[TaskId]) {
        self.restarted.extend(tasks.iter().map(|task| (task.clone(), self.now)));
    }

    /// Creates what a workflow starts with. Part of the fold of whatever made it start.
    pub(crate) fn enter(&mut self, frame: FrameIx) {
        let plan = self.plan.clone();
        let workflow = plan.workflow(self.frame(frame).workflow);
        self.frame_mut(frame).stage = Stage::Working;
        for (ix, node) in workflow.indexed() {
            if !node.needs.is_empty() && !self.index_in(frame).inner[ix.0 as usize] {
                let step = self.add_step(frame, ix, &[]);
                self.frame_mut(frame).waiting += 1;
                self.arm_input_timeout(step);
            }
        }
        let alone = workflow.entry.len() == 1;
        for entry in &workflow.entry {
            let step = self.add_step(frame, *entry, &[]);
            // Steps that merely stand side by side at the beginning are on no route.
            if alone || !workflow.node(*entry).routes.is_empty() {
                self.count_visit(frame, *entry);
            }
            self.make_ready(step);
        }
        self.check_when_idle(frame);
    }

    /// A step of a workflow (not a member of a group).
    pub(crate) fn add_step(&mut self, frame: FrameIx, node: NodeIx, from: &[TaskIx]) -> TaskIx {
        let visit = self.frame_mut(frame).visit(node);
        let id = self.step_id(frame, node, visit);
        let step = self.tasks.add(id, node, Place { frame, within: None, item: None }, from.into());
        let frame = self.frame_mut(frame);
        frame.live += 1;
        frame.steps.push(step);
        frame.needed.entry(node).or_insert(step);
        step
    }

    pub(crate) fn step_id(&self, frame: FrameIx, node: NodeIx, visit: u32) -> TaskId {
        let parent = self.frame(frame).parent.map(|task| &self.tasks[task].id);
        let workflow = self.workflow_in(frame);
        // A round is another visit of its phase, though the plan has a node for it.
        match workflow.node(node).round() {
            Some(round) => TaskId::new(parent, &workflow.node(round.of).name, None, round.number),
            None => TaskId::new(parent, &workflow.node(node).name, None, visit),
        }
    }

    pub(crate) fn count_visit(&mut self, frame: FrameIx, node: NodeIx) {
        if !self.workflow_in(frame).node(node).kind.is_group() {
            self.frame_mut(frame).count_iterations(1);
        }
    }

    pub(super) fn open_sub_plan(&mut self, task: TaskIx, workflow: WorkflowIx, inputs: &Payload) {
        let depth = self.frame(self.tasks[task].place.frame).depth + 1;
        let mut frame = Frame::new(workflow, Some(task), depth, inputs.clone());
        if let Some(earlier) = self.tasks[task].frame {
            frame.visits = self.frame(earlier).visits.clone();
        }
        let ix = FrameIx(self.frames.len() as u32);
        self.frames.push(frame);
        self.tasks[task].frame = Some(ix);
        self.tasks[task].state = TaskState::Open;
        self.begin_frame(ix);
    }

    pub(super) fn budget_exceeded(&mut self) -> Folded {
        if let Some(frame) = self.frames.first_mut() {
            frame.budget_reports += 1;
        }
        Ok(())
    }

    pub(super) fn route_taken(
        &mut self,
        from: &TaskId,
        to: Option<&TaskId>,
        output: Option<&Payload>,
        on_error: bool,
    ) -> Folded {
        let task = self.known(from, "route_taken")?;
        let frame = self.tasks[task].place.frame;
        self.tasks[task].followed = true;
        self.tasks[task].handled |= on_error;
        // On the way to another step an output is rendered for its errors alone.
        if let (Some(output), None) = (output, to) {
            self.frame_mut(frame).end_outputs.push(output.clone());
        }
        if let Some(to) = to {
            let segment = to.segments().last().expect("an id has parts");
            let known = self.index_in(frame).by_name.get(segment.node.as_str()).copied();
            let node = known.ok_or_else(|| illegal(&format!("route_taken to {to}"), "no such node"))?;
            let next = self.add_step(frame, node, &[task]);
            self.tasks[next].after_error = on_error;
            self.count_visit(frame, node);
            self.make_ready(next);
        }
        self.check_when_idle(frame);
        Ok(())
    }

    pub(super) fn workflow_ending(&mut self, within: Option<&TaskId>, ending: &Ending) -> Folded {
        let frame = self.frame_within(within, "workflow_ending")?;
        if self.frame(frame).ending.is_none() {
            self.frame_mut(frame).ending = Some(FrameEnding::Stated(ending.clone()));
        }
        self.check_when_idle(frame);
        Ok(())
    }

    pub(super) fn stop_requested(&mut self, now: bool) -> Folded {
        if let Some(root) = self.frames.first_mut() {
            let harder = now && root.ending == Some(FrameEnding::Stopped { now: false });
            if root.ending.is_none() || harder {
                root.ending = Some(FrameEnding::Stopped { now });
                root.swept = false;
            }
            self.check_when_idle(FrameIx(0));
        }
        Ok(())
    }

    /// A sub-workflow's step is over, and with it the workflow that it ran.
    pub(super) fn close_inner(&mut self, task: TaskIx) {
        if let Some(frame) = self.tasks[task].frame {
            self.frame_mut(frame).stage = Stage::Closed;
        }
    }
}
