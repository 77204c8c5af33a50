//! What the attempts of roles may do and use.

use crate::state::{State, TaskIx};
use convoke_model::{Contract, Violation, Work};

impl State {
    /// A model that calls what it may not is told so and goes on, as one is that makes up a name.
    pub(super) fn role_contract(&self, task: TaskIx, work: &Work) -> Option<Contract> {
        let (role, _) = self.goal_role(task)?;
        let asks = self.parent_of(task)?;
        let (goal, _) = self.goal_of(asks)?;
        let mut contract = self.bounds_of(task, work);
        // What is named to goals are tools of servers, which say nothing about those that a coding agent has.
        contract.allowed_tools =
            contract.allowed_tools.filter(|_| contract.tools_settled || !has_its_own(work));
        Some(Contract {
            phase: self.node(goal).name.to_string(),
            persona: Some(role.word().to_owned()),
            depth: self.item_of(asks).map_or(0, |item| item.depth),
            violation: Violation::Reported,
            ..contract
        })
    }
}

fn has_its_own(work: &Work) -> bool {
    matches!(work, Work::Agent(call) if call.settings.provider.program.is_some())
}
