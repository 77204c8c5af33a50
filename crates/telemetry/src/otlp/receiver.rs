//! A receiver of one signal: where it is, of which runs it is told, and how a request is sent.

use super::messages::Response;
use crate::Address;
use crate::spans::Contents;
use convoke_follow::{Delivered, Undelivered};
use convoke_journal::Reader;
use convoke_model::RunId;
use prost::Message;
use reqwest::Client;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use std::sync::Arc;

/// Bytes of one request before it is compressed, roughly: receivers refuse what is much larger.
const MOST_BYTES: usize = 1 << 20;

/// Where contents of a run come from; `None` where they are not to be told.
pub type ContentsOf = Arc<dyn Fn(&RunId, &Reader) -> Option<Contents> + Send + Sync>;

/// Decides whether a run is told of.
pub type Wanted = Arc<dyn Fn(&RunId, &Reader) -> bool + Send + Sync>;

/// A receiver of one signal.
#[derive(Clone)]
pub struct Receiver {
    /// The name of its cursors.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Reaches it.
    pub client: Client,
    /// What is said of the program that sends.
    pub resource: Vec<(String, String)>,
    /// Contents, where they are told.
    pub contents: ContentsOf,
    /// Which runs are told of.
    pub wanted: Wanted,
}

impl Receiver {
    /// The plan of a run as its journal keeps it; `None` for a run that is not told of.
    pub(super) fn plan(&self, run: &RunId, journal: &Reader) -> Option<String> {
        (self.wanted)(run, journal).then(|| plan(journal))
    }

    /// Sends items in requests that a receiver takes at once. What it refuses of them is counted, and the others are sent all the same.
    pub(super) async fn send<T>(
        &self,
        items: &[T],
        size: impl Fn(&T) -> usize,
        body: impl Fn(&[T]) -> Vec<u8>,
    ) -> Result<Delivered, Undelivered> {
        let mut all = Delivered::default();
        for some in parts(items, size) {
            match self.post(body(some)).await {
                Ok(Delivered { refused, why }) => {
                    all.refused += refused;
                    all.why = why.or(all.why);
                }
                Err(Undelivered::Refused { why }) => {
                    all.refused += some.len() as u64;
                    all.why = Some(why);
                }
                Err(later) => return Err(later),
            }
        }
        Ok(all)
    }

    async fn post(&self, body: Vec<u8>) -> Result<Delivered, Undelivered> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let answer = self.address.post(&self.client, headers, body).await?;
        let partial = Response::decode(&*answer).ok().and_then(|response| response.partial_success);
        let refused = partial.as_ref().map_or(0, |partial| u64::try_from(partial.rejected).unwrap_or(0));
        let why = partial.filter(|_| refused > 0).map(|partial| partial.error_message);
        Ok(Delivered { refused, why })
    }
}

/// The plan of a run as its journal keeps it.
pub(super) fn plan(journal: &Reader) -> String {
    journal.meta().map(|meta| meta.plan.as_str().to_owned()).unwrap_or_default()
}

/// Items in parts of a bounded size, at least one in each.
fn parts<T>(items: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |item: &&T| {
            bytes += size(item);
            bytes <= MOST_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (some, others) = rest.split_at(count);
        rest = others;
        (!some.is_empty()).then_some(some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_everything_in_order_and_one_that_is_too_large_goes_alone() {
        let items = [MOST_BYTES / 2, MOST_BYTES / 2, 1, 2 * MOST_BYTES, 3];
        let parts: Vec<&[usize]> = parts(&items, |size| *size).collect();
        assert_eq!(parts, [&items[..2], &items[2..3], &items[3..4], &items[4..]]);
        assert_eq!(self::parts(&[] as &[usize], |size| *size).count(), 0);
    }
}
