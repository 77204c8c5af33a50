//! What the processes of the machine share: limits, their holders, and what waits for them.

use super::task::millis;
use convoke_capacity::{Instance, Liveness, ResourceView, Snapshot};
use convoke_engine::MONEY_UNIT;
use serde::Serialize;
use utoipa::ToSchema;

/// The table at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CapacityBody {
    pub limits: Vec<LimitBody>,
    pub processes: Vec<InstanceBody>,
    /// Whether any run has shared capacity since the machine was started.
    pub shared: bool,
}

/// What a limit counts, by its name.
pub(crate) fn unit_of(name: &str) -> (&'static str, u64) {
    match name {
        _ if name.contains("(money)") => ("usd_micros", MONEY_UNIT),
        _ if name.contains("(tokens)") || name.starts_with("tokens:") => ("tokens", 1),
        _ => ("count", 1),
    }
}

/// One limit. Its amounts are in its unit.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LimitBody {
    pub name: String,
    /// What it counts: `count`, `tokens`, or `usd_micros`, millionths of a US dollar.
    pub unit: String,
    /// Null where there is none.
    pub limit: Option<u64>,
    /// What is in use.
    pub used: u64,
    /// What is held by processes that are silent.
    pub held: u64,
    /// What was used and is counted by the service still.
    pub lingering: u64,
    /// Demands that wait for it.
    pub queued: u32,
    /// Where the limit comes from.
    pub origin: String,
    /// Whether a person set it.
    pub by_hand: bool,
    /// For how long what was used counts, where it is a rate.
    pub window_ms: Option<u64>,
    /// Until it goes on, where it pauses.
    pub paused_for_ms: Option<u64>,
    pub holders: Vec<HolderBody>,
    /// The most that was in use in each of the last 60 minutes, the newest last; from the start of the server on.
    pub recent: Vec<u64>,
}

/// A process that holds some of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct HolderBody {
    pub run: String,
    pub process: Option<u32>,
    pub workflow: String,
    pub used: u64,
}

/// A process that takes part.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct InstanceBody {
    pub pid: u32,
    pub run: String,
    pub workflow: String,
    /// `running`, `stopped`, `leaving` or `gone`.
    pub state: String,
    pub leases: u32,
    pub waiting: u32,
}

impl CapacityBody {
    /// `recent` says of a limit what was in use of it in each minute lately.
    pub fn of(snapshot: Option<&Snapshot>, recent: impl Fn(&str) -> Vec<u32>) -> CapacityBody {
        let Some(snapshot) = snapshot else {
            return CapacityBody { limits: Vec::new(), processes: Vec::new(), shared: false };
        };
        let limits = snapshot.resources.iter();
        let limits = limits.map(|resource| limit(resource, snapshot, &recent(&resource.name))).collect();
        let takes_part = |instance: &&Instance| {
            instance.liveness != Liveness::Dead || instance.leases > 0 || instance.waiting > 0
        };
        let processes = snapshot.instances.iter().filter(takes_part).map(process).collect();
        CapacityBody { limits, processes, shared: true }
    }
}

fn limit(resource: &ResourceView, snapshot: &Snapshot, recent: &[u32]) -> LimitBody {
    let (unit, factor) = unit_of(&resource.name);
    let amount = |units: u32| u64::from(units) * factor;
    let holders = snapshot.holders(&resource.name).into_iter().map(|holding| HolderBody {
        run: holding.run,
        process: (holding.pid != 0).then_some(holding.pid),
        workflow: holding.label,
        used: amount(holding.in_use + holding.quarantined),
    });
    LimitBody {
        name: resource.name.clone(),
        unit: unit.to_owned(),
        limit: (resource.limit != u32::MAX).then(|| amount(resource.limit)),
        used: amount(resource.in_use),
        held: amount(resource.quarantined),
        lingering: resource.lingering * factor,
        queued: resource.waiting,
        origin: resource.origin.clone(),
        by_hand: resource.by_hand,
        window_ms: resource.window.map(millis),
        // Rounded, so that what stands still does not look new at every look.
        paused_for_ms: resource.paused_for.map(|time| millis(time).div_ceil(1_000) * 1_000),
        holders: holders.collect(),
        recent: recent.iter().map(|units| amount(*units)).collect(),
    }
}

fn process(instance: &Instance) -> InstanceBody {
    let state = match instance.liveness {
        Liveness::Dead => "gone",
        _ if instance.stopped => "stopped",
        Liveness::Alive => "running",
        Liveness::Closed => "leaving",
    };
    InstanceBody {
        pid: instance.pid,
        run: instance.run.clone(),
        workflow: instance.label.clone(),
        state: state.to_owned(),
        leases: instance.leases,
        waiting: instance.waiting,
    }
}
