//! From a goal to its answer, in a simulated world: planned, spawned, recovered, rejoined and answered; cut off at every
//! commit and resumed; steered by people; and never better than its tasks.

#[path = "goals/again.rs"]
mod again;
#[path = "goals/calls.rs"]
mod calls;
#[path = "goals/collecting.rs"]
mod collecting;
#[path = "goals/contracts.rs"]
mod contracts;
#[path = "goals/decisions.rs"]
mod decisions;
#[path = "goals/golden.rs"]
mod golden;
#[path = "goals/honesty.rs"]
mod honesty;
#[path = "goals/in_part.rs"]
mod in_part;
#[path = "goals/kit.rs"]
mod kit;
#[path = "goals/leaving_out.rs"]
mod leaving_out;
#[path = "goals/many.rs"]
mod many;
#[path = "goals/material.rs"]
mod material;
#[path = "goals/not_collected.rs"]
mod not_collected;
#[path = "goals/people.rs"]
mod people;
#[path = "goals/planning.rs"]
mod planning;
#[path = "goals/random.rs"]
mod random;
#[path = "goals/recovering.rs"]
mod recovering;
#[path = "goals/resuming.rs"]
mod resuming;
#[path = "goals/taken_up.rs"]
mod taken_up;
#[path = "goals/tools.rs"]
mod tools;
