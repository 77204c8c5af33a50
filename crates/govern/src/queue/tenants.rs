//! Turns of the tenants of a class: start-time fair queueing.
//!
//! Each tenant has a tag per class; the smallest tag is next. A grant moves the tag on by the inverse of the tenant's
//! weight, from where it was or from where the class is now, whichever is later. So a tenant saves up no turns while it
//! does not fit or does not ask: it gets one at once, and takes turns with the others from then on. Ties go to the tenant
//! that was served (or came) longest ago. With equal weights a tenant is never granted twice in a row while another one fits,
//! except that a turn of the longest waiting may come before or after: hence at most two in a row.

use crate::hash::Map;
use crate::queue::rank::Tenant;
use std::collections::HashMap;

/// What one grant costs a tenant of weight 1.
const TURN: u64 = 1 << 24;

/// When it is a tenant's turn: by share first; of equal shares, the tenant that was served longest ago comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Tag {
    share: u64,
    served: u64,
}

#[derive(Debug, Default)]
struct Account {
    tag: Tag,
    /// How many lanes demands of this tenant and class wait in.
    lanes: u32,
}

/// How many grants in a row went to the same tenant of a class.
#[derive(Debug, Default)]
pub(crate) struct Row {
    who: Option<(u8, Tenant)>,
    count: u32,
}

impl Row {
    pub fn add(&mut self, class: u8, tenant: Tenant) {
        self.count = if self.who == Some((class, tenant)) { self.count.saturating_add(1) } else { 1 };
        self.who = Some((class, tenant));
    }

    /// How many were the last ones.
    pub fn of(&self, class: u8, tenant: Tenant) -> u32 {
        if self.who == Some((class, tenant)) { self.count } else { 0 }
    }
}

/// How much each tenant has had.
#[derive(Debug)]
pub(crate) struct Tenants {
    names: HashMap<String, Tenant>,
    weights: Vec<u32>,
    accounts: Map<(u8, Tenant), Account>,
    /// Per class, the share at which the last grant began.
    reached: [u64; 256],
    turns: u64,
}

impl Default for Tenants {
    fn default() -> Tenants {
        Tenants {
            names: HashMap::new(),
            weights: vec![1],
            accounts: Map::default(),
            reached: [0; 256],
            turns: 0,
        }
    }
}

impl Tenants {
    /// The tenant of a name. The nameless one is `Tenant::default()`.
    pub fn of(&mut self, name: &str) -> Tenant {
        if let Some(tenant) = self.names.get(name) {
            return *tenant;
        }
        let tenant =
            Tenant(u32::try_from(self.weights.len()).expect("fewer than four thousand million tenants"));
        self.weights.push(1);
        self.names.insert(name.to_owned(), tenant);
        tenant
    }

    /// How many grants in a row are enough, while others wait.
    pub fn row(&self, tenant: Tenant) -> u32 {
        self.weights[tenant.0 as usize].max(2)
    }

    pub fn set_weight(&mut self, tenant: Tenant, weight: u32) {
        self.weights[tenant.0 as usize] = weight.clamp(1, 1 << 16);
    }

    /// Demands of a tenant and class wait in one more lane.
    pub fn enter(&mut self, class: u8, tenant: Tenant) -> Tag {
        self.turns += 1;
        let account = self.accounts.entry((class, tenant)).or_default();
        if account.lanes == 0 {
            let share = account.tag.share.max(self.reached[class as usize]);
            account.tag = Tag { share, served: self.turns };
        }
        account.lanes += 1;
        account.tag
    }

    /// Demands of a tenant and class wait in one lane less.
    pub fn leave(&mut self, class: u8, tenant: Tenant) {
        self.accounts.entry((class, tenant)).or_default().lanes -= 1;
    }

    /// When it is the turn of a tenant in a class.
    pub fn tag(&self, class: u8, tenant: Tenant) -> Tag {
        self.accounts.get(&(class, tenant)).map(|account| account.tag).unwrap_or_default()
    }

    /// Counts a grant to a tenant, by rank or by age.
    pub fn charge(&mut self, class: u8, tenant: Tenant) {
        self.turns += 1;
        let cost = TURN / u64::from(self.weights[tenant.0 as usize]);
        let account = self.accounts.entry((class, tenant)).or_default();
        let reached = &mut self.reached[class as usize];
        *reached = account.tag.share.max(*reached);
        account.tag = Tag { share: *reached + cost, served: self.turns };
    }
}
