//! What keeps a conversation within bounds, one file each. All of it is pure; the numbers come with the agent's
//! settings.

pub(crate) mod compact;
pub(crate) mod evict;
pub(crate) mod gauge;
pub(crate) mod limits;
pub(crate) mod recall;
pub(crate) mod stuck;
pub(crate) mod warn;

use serde::{Deserialize, Serialize};

/// What the capabilities remember between two turns: little, whatever the length of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// Rounds of tool calls so far.
    #[serde(skip_serializing_if = "is_default")]
    pub rounds: u32,
    /// The highest percentage that the agent was warned of.
    #[serde(skip_serializing_if = "is_default")]
    pub warned: u8,
    /// The service called the context too long, and it has not answered since.
    #[serde(skip_serializing_if = "is_default")]
    pub squeezed: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub gauge: gauge::Gauge,
    #[serde(skip_serializing_if = "is_default")]
    pub stuck: stuck::History,
    #[serde(skip_serializing_if = "is_default")]
    pub left_out: compact::LeftOut,
}

impl Memory {
    /// What is left when the agent begins again with other messages.
    pub fn begin_again(&mut self) {
        *self = Memory { gauge: self.gauge, ..Memory::default() };
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
