//! Posts notices to an address, signed.
//!
//! Headers and signature are those of Standard Webhooks, so that receivers can check them with what they have: `webhook-id`,
//! `webhook-timestamp` and `webhook-signature`, which is HMAC-SHA256 over `ID.TIMESTAMP.BODY`. A repetition has the same id.

use super::fold::{Nothing, Notice, RunNotices, Topic};
use crate::Address;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convoke_follow::{Consumer, Delivered, Fold, Undelivered};
use convoke_journal::Reader;
use convoke_model::{RunId, Stamped};
use futures::future::BoxFuture;
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use ring::hmac;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A secret that is written so is base64 behind this.
const ENCODED: &str = "whsec_";

/// A receiver of notices.
#[derive(Clone)]
pub struct Webhook {
    /// The name of its cursors.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Reaches it.
    pub client: Client,
    /// Signs what is posted, where there is one.
    pub secret: Option<String>,
    /// What is told.
    pub on: Vec<Topic>,
    /// The workflows that it is told of; all where none is named.
    pub workflows: Vec<String>,
    /// Silence of so long is told.
    pub stall: Duration,
    /// Which runs are told of.
    pub wanted: crate::otlp::Wanted,
}

/// The notices that a receiver wants.
struct Wanted {
    notices: RunNotices,
    on: Vec<Topic>,
    workflows: Vec<String>,
}

impl Wanted {
    fn keep(&self, items: &mut Vec<Notice>, from: usize) {
        let is_named =
            self.workflows.is_empty() || self.workflows.iter().any(|name| name == self.notices.workflow());
        let mut at = 0;
        items.retain(|notice| {
            at += 1;
            at <= from || is_named && self.on.contains(&notice.topic)
        });
    }
}

impl Fold<Notice> for Wanted {
    fn take(&mut self, event: &Stamped, items: &mut Vec<Notice>) {
        let from = items.len();
        self.notices.take(event, items);
        self.keep(items, from);
    }

    fn stand(&mut self, standing: &convoke_follow::Standing, items: &mut Vec<Notice>) {
        let from = items.len();
        self.notices.stand(standing, items);
        self.keep(items, from);
    }
}

impl Webhook {
    async fn post(&self, notice: &Notice) -> Result<(), Undelivered> {
        let body = serde_json::to_vec(notice)
            .map_err(|error| Undelivered::Refused { why: format!("it cannot be written: {error}") })?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let signed = self.secret.as_ref().map(|secret| signature(secret, &notice.id, now, &body));
        let texts = [
            ("webhook-id", Some(notice.id.clone())),
            ("webhook-timestamp", Some(now.to_string())),
            ("webhook-signature", signed),
        ];
        for (name, text) in texts {
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
        self.address.post(&self.client, headers, body).await.map(drop)
    }

    async fn post_all(&self, notices: &[Notice]) -> Result<Delivered, Undelivered> {
        let mut all = Delivered::default();
        for notice in notices {
            match self.post(notice).await {
                Ok(()) => {}
                Err(Undelivered::Refused { why }) => {
                    all.refused += 1;
                    all.why = Some(why);
                }
                Err(later) => return Err(later),
            }
        }
        Ok(all)
    }
}

impl Consumer for Webhook {
    type Item = Notice;

    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Notice>> {
        if !(self.wanted)(run, journal) {
            return Box::new(Nothing);
        }
        let (on, workflows) = (self.on.clone(), self.workflows.clone());
        Box::new(Wanted { notices: RunNotices::new(run, self.stall), on, workflows })
    }

    fn deliver<'a>(
        &'a mut self,
        _run: &'a RunId,
        items: &'a [Notice],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        Box::pin(self.post_all(items))
    }
}

/// What `webhook-signature` says of a body.
pub fn signature(secret: &str, id: &str, timestamp: u64, body: &[u8]) -> String {
    let encoded = secret.strip_prefix(ENCODED).and_then(|text| STANDARD.decode(text).ok());
    let key = hmac::Key::new(hmac::HMAC_SHA256, encoded.as_deref().unwrap_or(secret.as_bytes()));
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The example of the specification.
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let signed = signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id, 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
