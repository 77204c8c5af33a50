//! Demands in the order in which they came.
//!
//! They come in order, so a queue with gaps is enough: a demand that leaves from the middle leaves a gap, gaps at the front go at
//! once, and when there are more gaps than demands all of them go. Constant time, on average; finding a demand in the
//! middle takes a logarithm.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct ByAge {
    /// Age and key; no key is a gap. Ages rise, and the first one is never a gap.
    queue: VecDeque<(u64, Option<u64>)>,
    len: usize,
}

impl ByAge {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a demand that is younger than all.
    pub fn push(&mut self, age: u64, key: u64) {
        debug_assert!(self.queue.back().is_none_or(|(last, _)| *last < age), "ages rise");
        self.queue.push_back((age, Some(key)));
        self.len += 1;
    }

    pub fn remove(&mut self, age: u64) {
        let is_first = self.queue.front().is_some_and(|(first, _)| *first == age);
        let at = if is_first { 0 } else { self.queue.partition_point(|(other, _)| *other < age) };
        let Some((_, key)) = self.queue.get_mut(at).filter(|(other, key)| *other == age && key.is_some())
        else {
            return;
        };
        *key = None;
        self.len -= 1;
        while self.queue.front().is_some_and(|(_, key)| key.is_none()) {
            self.queue.pop_front();
        }
        if self.queue.len() > 2 * self.len + 64 {
            self.queue.retain(|(_, key)| key.is_some());
        }
    }

    /// The demand that came first: age and key.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.queue.front().and_then(|(age, key)| Some((*age, (*key)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn is_a_sorted_map_of_those_who_wait(steps in prop::collection::vec(any::<Option<u8>>(), 1..500)) {
            let (mut queue, mut model, mut age) = (ByAge::default(), BTreeMap::new(), 0);
            for step in steps {
                match step {
                    None => {
                        age += 1;
                        queue.push(age, age * 10);
                        model.insert(age, age * 10);
                    }
                    Some(which) => {
                        let gone = model.keys().nth(which as usize % model.len().max(1)).copied().unwrap_or(age + 9);
                        queue.remove(gone);
                        model.remove(&gone);
                    }
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.first(), model.first_key_value().map(|(age, key)| (*age, *key)));
                prop_assert!(queue.queue.len() <= 2 * model.len() + 65);
            }
        }
    }
}
