//! Metrics: the request, and the consumer that sends them.
//!
//! Values are cumulative: a request has everything that was ever counted, with the moment from which on it was. So a request that is
//! sent again adds nothing, one that is lost is made good by the next one, and what a sender that was killed had counted is in the
//! file. Differences (`DELTA`) would need a receiver that knows a repetition, and Prometheus takes none.

use super::body;
use super::messages::metrics::{
    Data, Histogram, HistogramPoint, Metric, Number, NumberPoint, Request, ResourceMetrics, ScopeMetrics, Sum,
};
use super::messages::{Any, KeyValue, Scope};
use super::receiver::Receiver;
use crate::instruments::table::{ALL, Instrument, Scale, Shape};
use crate::instruments::{OVERFLOW, Point, RunValues, Series, Sums, Values};
use crate::notices::Nothing;
use convoke_follow::{Consumer, Delivered, Fold, Totals, Undelivered, Urgency};
use convoke_journal::{Reader, StateDir};
use convoke_model::{RunId, Timestamp};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// `AggregationTemporality` as the protocol numbers it.
const CUMULATIVE: i32 = 2;

/// How long what has changed waits for more.
const CHANGED: Duration = Duration::from_secs(10);

/// After this the same is told again: receivers take a series for gone that is silent for minutes.
const UNCHANGED: Duration = Duration::from_secs(60);

/// By this a receiver tells the series of one sender from those of another.
const INSTANCE: &str = "service.instance.id";

/// A receiver of metrics.
pub struct Metrics {
    to: Receiver,
    sums: Sums,
    /// When this process sent last, or began.
    sent: Instant,
    /// Whether the receiver took what was sent last.
    has_sent: bool,
}

/// A stream of metrics: whose they are, and the time that they are of.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The program that counts.
    pub instance: String,
    /// From when on.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
}

impl Metrics {
    /// Counts into a file of this state directory, and sends what all runs come to.
    pub fn new(to: Receiver, state: &StateDir) -> Metrics {
        let sums = Sums::new(state, &to.name);
        Metrics { to, sums, sent: Instant::now(), has_sent: false }
    }

    fn is_due(&self, urgency: Urgency, has_news: bool) -> bool {
        match (urgency, has_news) {
            (Urgency::Now, has_news) => has_news,
            (Urgency::WhenDue, true) => !self.has_sent || self.sent.elapsed() >= CHANGED,
            (Urgency::WhenDue, false) => self.sent.elapsed() >= UNCHANGED,
        }
    }

    async fn send_all(&mut self, urgency: Urgency) -> Result<Totals, Undelivered> {
        let has_news = self.sums.has_news().map_err(later)?;
        if !self.is_due(urgency, has_news) {
            return Ok(Totals::default());
        }
        (self.sent, self.has_sent) = (Instant::now(), true);
        let values = self.sums.all().map_err(later)?;
        let (instance, since) = self.sums.stream().map_err(later)?;
        if values.is_empty() {
            return Ok(Totals::default());
        }
        let outcome = send(&self.to, &values, &Stream { instance, since, until: now() }).await;
        match outcome {
            // The forwarder knows how long the receiver is to be left alone.
            Err(Undelivered::Later { .. }) => self.has_sent = false,
            // What it wants none of is not offered again until there is more.
            _ => self.sums.is_sent().map_err(later)?,
        }
        outcome
    }
}

/// Sends values as those of a stream.
pub(super) async fn send(to: &Receiver, values: &Values, of: &Stream) -> Result<Totals, Undelivered> {
    let points: Vec<_> = values.points().collect();
    let size = |(series, point): &(&Series, &Point)| {
        let attributes = series.attributes.iter().map(|(name, value)| name.len() + value.len() + 8);
        64 + attributes.sum::<usize>() + 17 * point.buckets.len()
    };
    let delivered = to.send(&points, size, |some| encoded(some, of, &to.resource)).await?;
    Ok(Totals { items: points.len() as u64, delivered })
}

impl Consumer for Metrics {
    type Item = Arc<Mutex<Values>>;

    fn name(&self) -> &str {
        &self.to.name
    }

    fn begin(&self, run: &RunId, journal: &Reader) -> Box<dyn Fold<Self::Item>> {
        match self.to.plan(run, journal) {
            Some(plan) => Box::new(RunValues::new(run, &plan)),
            None => Box::new(Nothing),
        }
    }

    /// Keeps what the run adds by now; the receiver hears of it with the totals.
    fn deliver<'a>(
        &'a mut self,
        run: &'a RunId,
        items: &'a [Self::Item],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        let kept = items.last().map_or(Ok(()), |values| {
            let values = values.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.sums.keep(run, values)
        });
        Box::pin(std::future::ready(kept.map(|()| Delivered::default()).map_err(later)))
    }

    fn deliver_totals(&mut self, urgency: Urgency) -> BoxFuture<'_, Result<Totals, Undelivered>> {
        Box::pin(self.send_all(urgency))
    }
}

fn later(error: rusqlite::Error) -> Undelivered {
    Undelivered::Later { why: format!("what was counted cannot be kept: {error}"), after: None }
}

/// The body of a request with these values, of a program with these attributes.
pub fn encoded(points: &[(&Series, &Point)], of: &Stream, resource: &[(String, String)]) -> Vec<u8> {
    let instance = (INSTANCE.to_owned(), of.instance.clone());
    // The version is no part of it: another one would be another stream, and its values would count twice.
    let resource = resource.iter().filter(|(name, _)| name != "service.version").cloned();
    let resource: Vec<_> = resource.chain([instance]).collect();
    let metrics = ALL.iter().filter_map(|instrument| metric(instrument, points, of)).collect();
    let scope = Some(Scope { name: "convoke".to_owned(), version: String::new() });
    let scope_metrics = vec![ScopeMetrics { scope, metrics }];
    let resource_metrics = vec![ResourceMetrics { resource: body::resource(&resource), scope_metrics }];
    body::compressed(&Request { resource_metrics })
}

fn metric(instrument: &Instrument, points: &[(&Series, &Point)], of: &Stream) -> Option<Metric> {
    let own = points.iter().filter(|(series, _)| series.instrument == instrument.name);
    let mut own = own.peekable();
    own.peek()?;
    let data = match instrument.shape {
        Shape::Histogram(bounds) => {
            let data_points = own.map(|point| histogram(point, bounds.all(), of, instrument)).collect();
            Data::Histogram(Histogram { data_points, aggregation_temporality: CUMULATIVE })
        }
        shape => Data::Sum(Sum {
            data_points: own.map(|point| number(point, of, instrument)).collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: shape == Shape::Counter,
        }),
    };
    Some(Metric {
        name: instrument.name.to_owned(),
        description: instrument.help.to_owned(),
        unit: instrument.unit.to_owned(),
        data: Some(data),
    })
}

fn histogram(
    (series, point): &(&Series, &Point),
    bounds: &[f64],
    of: &Stream,
    instrument: &Instrument,
) -> HistogramPoint {
    HistogramPoint {
        start_time_unix_nano: nanos(of.since),
        time_unix_nano: nanos(of.until),
        count: point.count(),
        sum: Some(match instrument.scale {
            Scale::One => point.sum as f64,
            Scale::Millionths => point.sum as f64 / 1e6,
        }),
        bucket_counts: point.buckets.clone(),
        explicit_bounds: bounds.to_vec(),
        attributes: attributes(series),
    }
}

fn number((series, point): &(&Series, &Point), of: &Stream, instrument: &Instrument) -> NumberPoint {
    NumberPoint {
        start_time_unix_nano: nanos(of.since),
        time_unix_nano: nanos(of.until),
        attributes: attributes(series),
        value: Some(match instrument.scale {
            Scale::One => Number::Whole(point.sum),
            Scale::Millionths => Number::Fraction(point.sum as f64 / 1e6),
        }),
    }
}

fn attributes(series: &Series) -> Vec<KeyValue> {
    let pairs = series.attributes.iter().map(|(name, value)| match name.as_str() {
        OVERFLOW => body::key_value(name, Any::Flag(true)),
        _ => body::key_value(name, Any::Text(value.clone())),
    });
    pairs.collect()
}

fn nanos(at: Timestamp) -> u64 {
    at.0.saturating_mul(1_000)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
