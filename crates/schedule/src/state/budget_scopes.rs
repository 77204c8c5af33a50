//! The budget scopes of a task: every budget that its calls draw from, nearest first.
//!
//! The one place that says so: what calls are charged to and what a contract names both come from here.

use crate::state::{State, TaskIx};
use convoke_model::{Allowance, Budget, Segment, TaskId};
use convoke_plan::{Kind, Limits, Node, Plan, Workflow, WorkflowIx};
use std::collections::HashMap;
use std::sync::Arc;

/// What a budget belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The run's.
    Run,
    /// A sub-workflow's.
    Workflow(TaskId),
    /// A group's, all its members together.
    Group(TaskId),
    /// A step's, all its tasks together.
    Step {
        /// Its name.
        name: Arc<str>,
        /// The file it stands in, where steps of other files have budgets under the same name.
        file: Option<Arc<str>>,
    },
    /// The run's, by the configuration, for runs whose file states none.
    AnyRun,
    /// A tenant's, in a day.
    Tenant(Arc<str>),
    /// That of all runs, in a day.
    Day,
}

impl Owner {
    /// How messages and contracts name its budget.
    pub fn budget_name(&self) -> String {
        match self {
            Owner::Run | Owner::AnyRun => "budget of the run".into(),
            Owner::Workflow(task) => format!("budget of workflow {task}"),
            Owner::Group(task) => format!("budget of group {task}"),
            Owner::Step { name, file: None } => format!("budget of step {name}"),
            Owner::Step { name, file: Some(file) } => format!("budget of step {name} of {file}"),
            Owner::Tenant(name) => format!("budget of tenant {name}"),
            Owner::Day => "budget of the day".into(),
        }
    }
}

/// Budgets that stand in no plan: those of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfiguredBudgets {
    /// Of all runs of a day.
    pub day: Option<Budget>,
    /// Of a run whose file says nothing.
    pub run: Option<Budget>,
    /// Of tenants, in a day.
    pub tenants: HashMap<String, Budget>,
}

impl ConfiguredBudgets {
    fn has_budgets(&self) -> bool {
        self.day.is_some() || self.run.is_some() || !self.tenants.is_empty()
    }

    /// Adds those that a task of this tenant is under, behind those of its plan.
    fn add_to(&self, scopes: &mut Vec<BudgetScope>, tenant: Option<&Arc<str>>) {
        let is_stated = scopes.iter().any(|scope| scope.owner == Owner::Run);
        let run = self.run.iter().filter(|_| !is_stated).map(|budget| (Owner::AnyRun, budget));
        let tenant = tenant.and_then(|name| Some((Owner::Tenant(name.clone()), self.tenants.get(&**name)?)));
        let day = self.day.iter().map(|budget| (Owner::Day, budget));
        let all = run.chain(tenant).chain(day);
        scopes.extend(all.map(|(owner, budget)| BudgetScope { owner, budget: budget.clone() }));
    }
}

/// A budget that a task draws from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetScope {
    /// What it belongs to.
    pub owner: Owner,
    /// How much.
    pub budget: Budget,
}

impl From<BudgetScope> for Allowance {
    fn from(scope: BudgetScope) -> Allowance {
        Allowance { name: scope.owner.budget_name(), budget: scope.budget }
    }
}

impl State {
    /// Whether any task of the run can stand under a budget.
    pub fn has_budgets(&self) -> bool {
        self.configured_budgets.has_budgets() || self.index.iter().any(|workflow| workflow.budgeted)
    }

    /// Every budget that a task draws from, nearest first.
    pub fn budget_scopes(&self, task: TaskIx) -> Vec<BudgetScope> {
        let mut scopes = self.stated_scopes(task);
        self.configured_budgets.add_to(&mut scopes, self.tenant(task).as_ref());
        scopes
    }

    /// Those that the plan states.
    fn stated_scopes(&self, task: TaskIx) -> Vec<BudgetScope> {
        let mut scopes: Vec<_> = self.of_step(task).into_iter().collect();
        let mut frame = self.tasks[task].place.frame;
        self.add_groups(task, &mut scopes);
        loop {
            let parent = self.frame(frame).parent;
            let owner = match parent {
                Some(task) => Owner::Workflow(self.tasks[task].id.clone()),
                None => Owner::Run,
            };
            scopes.extend(of_workflow(&self.workflow_in(frame).limits, owner));
            match parent {
                Some(task) => {
                    self.add_groups(task, &mut scopes);
                    frame = self.tasks[task].place.frame;
                }
                None => return scopes,
            }
        }
    }

    /// Every budget that a task draws from, and its tenant; also of one that is gone, or begins anew. What its name says and the
    /// plan does not know any more is left out.
    pub fn budget_scopes_of(&self, id: &TaskId) -> (Vec<BudgetScope>, Option<Arc<str>>) {
        if let Some(task) = self.find(id) {
            return (self.budget_scopes(task), self.tenant(task));
        }
        let mut path = Path::new(&self.plan, &self.namesakes);
        let _ = id.segments().try_for_each(|segment| path.descend(&segment));
        let tenant = path.tenant.clone();
        path.scopes.extend(path.of_step());
        self.configured_budgets.add_to(&mut path.scopes, tenant.as_ref());
        (path.scopes, tenant)
    }

    /// The budgets of the groups that a task is in.
    fn add_groups(&self, task: TaskIx, scopes: &mut Vec<BudgetScope>) {
        let mut within = self.tasks[task].place.within;
        while let Some(group) = within {
            let node = self.node(group);
            let scope = match node.kind.is_group() {
                true => node
                    .budget
                    .clone()
                    .map(|budget| BudgetScope { owner: Owner::Group(self.tasks[group].id.clone()), budget }),
                // What a step has asked on its way is paid by the step.
                false => self.of_step(group),
            };
            scopes.extend(scope.filter(|scope| !scopes.contains(scope)));
            within = self.tasks[group].place.within;
        }
    }

    /// The budget of a task's own step.
    fn of_step(&self, task: TaskIx) -> Option<BudgetScope> {
        let budget = self.node(task).budget.clone()?;
        let workflow = self.frame(self.tasks[task].place.frame).workflow;
        Some(BudgetScope { owner: self.namesakes.owner(workflow, &self.node(task).name), budget })
    }
}

/// The files of steps whose name alone does not say which budget is meant. Those of the run's own file are called by their
/// name alone, and so is every other that has its name for itself.
#[derive(Debug, Default)]
pub(crate) struct Namesakes(HashMap<(WorkflowIx, Arc<str>), Arc<str>>);

impl Namesakes {
    /// Those of a plan.
    pub fn of(plan: &Plan) -> Namesakes {
        let mut homes: HashMap<&Arc<str>, Vec<WorkflowIx>> = HashMap::new();
        for (ix, workflow) in plan.workflows.iter().enumerate() {
            for node in workflow.nodes.iter().filter(|node| node.budget.is_some() && !node.kind.is_group()) {
                homes.entry(&node.name).or_default().push(WorkflowIx(ix as u32));
            }
        }
        let shared = homes.into_iter().filter(|(_, homes)| homes.len() > 1);
        let below = shared.flat_map(|(name, homes)| homes.into_iter().map(|home| (home, name.clone())));
        let below = below.filter(|(home, _)| home.0 > 0);
        Namesakes(
            below
                .map(|step| {
                    let file = file_of(plan, step.0);
                    (step, file)
                })
                .collect(),
        )
    }

    /// What the budget of a step belongs to.
    fn owner(&self, workflow: WorkflowIx, step: &Arc<str>) -> Owner {
        let file = self.0.get(&(workflow, step.clone())).cloned();
        Owner::Step { name: step.clone(), file }
    }
}

/// The file of a workflow, as seen from the folder of the run's own.
fn file_of(plan: &Plan, workflow: WorkflowIx) -> Arc<str> {
    let file = plan.workflow(workflow).file.as_str();
    let below = file.strip_prefix(plan.root().dir.as_str()).map(|rest| rest.trim_start_matches('/'));
    below.filter(|below| !below.is_empty()).unwrap_or(file).into()
}

/// Whether a name below a step is that of something it asked.
fn asked_by(step: &Node, segment: &Segment) -> bool {
    match step.kind {
        Kind::SubPlan(_) | Kind::Parallel(_) | Kind::ForEach(_) => {
            step.repairer.is_some() && segment.node == "repair_input"
        }
        _ => true,
    }
}

fn of_workflow(limits: &Limits, owner: Owner) -> Option<BudgetScope> {
    let budget = limits.budget.clone()?;
    Some(BudgetScope { owner, budget })
}

/// The way down to a task by its name.
struct Path<'a> {
    plan: &'a Plan,
    namesakes: &'a Namesakes,
    ix: WorkflowIx,
    workflow: &'a Workflow,
    id: Option<TaskId>,
    node: Option<&'a Node>,
    scopes: Vec<BudgetScope>,
    /// The nearest that is written so far.
    tenant: Option<Arc<str>>,
}

impl<'a> Path<'a> {
    fn new(plan: &'a Plan, namesakes: &'a Namesakes) -> Path<'a> {
        let workflow = plan.root();
        let scopes = of_workflow(&workflow.limits, Owner::Run).into_iter().collect();
        let tenant = workflow.labels.tenant.clone();
        Path { plan, namesakes, ix: WorkflowIx(0), workflow, id: None, node: None, scopes, tenant }
    }

    /// The budget of the step that it has come to.
    fn of_step(&self) -> Option<BudgetScope> {
        let node = self.node?;
        Some(BudgetScope { owner: self.namesakes.owner(self.ix, &node.name), budget: node.budget.clone()? })
    }

    /// Goes one step down; `None` where the plan knows no such step.
    fn descend(&mut self, segment: &Segment) -> Option<()> {
        let within = self.node.take();
        let parent = self.id.take();
        if let Some(asks) = within.filter(|node| asked_by(node, segment)) {
            // What a step has asked on its way is paid by the step.
            (self.node, self.id) = (Some(asks), parent);
            return Some(());
        }
        match within.map(|node| &node.kind) {
            Some(Kind::SubPlan(sub)) => self.enter(sub.workflow, parent.clone()?),
            Some(Kind::Parallel(_)) => self.pay_group(within?, parent.clone()?),
            _ => {}
        }
        let name = |node: &&Node| *node.name == segment.node;
        let node = self.workflow.nodes.iter().find(name)?;
        let id = |key: Option<&str>| TaskId::new(parent.as_ref(), &segment.node, key, segment.visit);
        self.id = Some(id(segment.key.as_deref()));
        self.node = Some(match (&node.kind, &segment.key) {
            (Kind::ForEach(each), Some(_)) => {
                // Items of a for_each that is itself an item stand below it, those of any other beside it.
                let is_item = within.is_some_and(|within| within.name == node.name);
                self.pay_group(node, if is_item { parent.clone()? } else { id(None) });
                self.workflow.node(each.body)
            }
            _ => node,
        });
        self.settle_tenant(node);
        self.settle_tenant(self.node?);
        Some(())
    }

    /// A node on the way down is nearer than all before it.
    fn settle_tenant(&mut self, node: &Node) {
        self.tenant = node.labels.tenant.clone().or_else(|| self.tenant.take());
    }

    fn enter(&mut self, workflow: WorkflowIx, task: TaskId) {
        self.ix = workflow;
        self.workflow = self.plan.workflow(workflow);
        self.tenant = self.workflow.labels.tenant.clone().or_else(|| self.tenant.take());
        self.scopes.extend(of_workflow(&self.workflow.limits, Owner::Workflow(task)));
    }

    fn pay_group(&mut self, group: &Node, task: TaskId) {
        let budget = group.budget.clone();
        self.scopes.extend(budget.map(|budget| BudgetScope { owner: Owner::Group(task), budget }));
    }
}
