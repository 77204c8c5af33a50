//! Values of instruments, by their attributes.

use super::table::{self, Instrument, Scale, Shape};
use crate::by_run::Part;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Attribute sets of one instrument that one run adds; what comes later is told together. The first ones stay, whatever comes.
const SETS: usize = 200;

/// How what is told together is marked (OpenTelemetry's limit of cardinality).
pub const OVERFLOW: &str = "otel.metric.overflow";

/// An instrument with the values of its attributes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Series {
    /// The name of the instrument.
    pub instrument: String,
    /// Its attributes, sorted by name.
    pub attributes: Vec<(String, String)>,
}

/// What was counted of one series.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The sum, in the whole numbers of its instrument.
    pub sum: i64,
    /// How many values were within each bound of a histogram and above the one before, and above the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

impl Point {
    /// How many values a histogram has.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    fn add(&mut self, more: &Point) {
        self.sum = self.sum.saturating_add(more.sum);
        if self.buckets.len() < more.buckets.len() {
            self.buckets.resize(more.buckets.len(), 0);
        }
        self.buckets.iter_mut().zip(&more.buckets).for_each(|(bucket, more)| *bucket += more);
    }
}

/// The values of a run, or of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    /// The workflow of the run.
    pub workflow: String,
    points: BTreeMap<Series, Point>,
}

impl Values {
    /// Every series with its point, in the order of their names.
    pub fn points(&self) -> impl Iterator<Item = (&Series, &Point)> {
        self.points.iter()
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Forgets what was counted.
    pub(super) fn clear(&mut self) {
        self.points.clear();
    }

    /// Records a value: adds it to a sum, or to its bucket.
    pub(super) fn record(&mut self, of: &Instrument, attributes: &[(&str, &str)], value: i64) {
        let mut point = Point { sum: value, buckets: Vec::new() };
        if let Shape::Histogram(bounds) = of.shape {
            let bounds = bounds.all();
            let stated = match of.scale {
                Scale::One => value as f64,
                Scale::Millionths => value as f64 / 1e6,
            };
            let bucket = bounds.iter().position(|bound| stated <= *bound).unwrap_or(bounds.len());
            point.buckets = vec![0; bounds.len() + 1];
            point.buckets[bucket] = 1;
        }
        let series = self.series(of, attributes);
        self.points.entry(series).or_default().add(&point);
    }

    fn series(&self, of: &Instrument, attributes: &[(&str, &str)]) -> Series {
        let mut attributes: Vec<_> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        attributes.sort();
        let series = Series { instrument: of.name.to_owned(), attributes };
        if self.points.contains_key(&series) || self.sets(of.name) < SETS {
            return series;
        }
        Series { attributes: vec![(OVERFLOW.to_owned(), "true".to_owned())], ..series }
    }

    fn sets(&self, instrument: &str) -> usize {
        let first = Series { instrument: instrument.to_owned(), attributes: Vec::new() };
        self.points.range(first..).take_while(|(series, _)| series.instrument == instrument).count()
    }

    /// Adds everything of a run, also what is going on in it.
    pub(super) fn add_all(&mut self, more: &Values) {
        for (series, point) in &more.points {
            self.points.entry(series.clone()).or_default().add(point);
        }
    }
}

impl Part for Values {
    fn workflow(&self) -> &str {
        &self.workflow
    }

    fn add_to(&self, sum: &mut Values) {
        sum.workflow.clone_from(&self.workflow);
        for (series, point) in &self.points {
            let stays = table::named(&series.instrument).is_some_and(|of| of.shape != Shape::UpDown);
            if stays {
                sum.points.entry(series.clone()).or_default().add(point);
            }
        }
    }
}

/// Values as they are kept: a list, because keys of JSON are texts.
#[derive(Serialize, Deserialize)]
struct Kept {
    workflow: String,
    points: Vec<(Series, Point)>,
}

impl Serialize for Values {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let points = self.points.iter().map(|(series, point)| (series.clone(), point.clone())).collect();
        Kept { workflow: self.workflow.clone(), points }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        let Kept { workflow, points } = Kept::deserialize(deserializer)?;
        Ok(Values { workflow, points: points.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(values: &Values, instrument: &Instrument) -> i64 {
        values.points().filter(|(series, _)| series.instrument == instrument.name).map(|(_, p)| p.sum).sum()
    }

    #[test]
    fn a_value_falls_into_the_bucket_whose_bound_it_does_not_pass() {
        let mut values = Values::default();
        for micros in [0, 10_000, 10_001, 90_000_000] {
            values.record(&table::INFERENCE, &[("a", "b")], micros);
        }
        let (_, point) = values.points().next().unwrap();
        let mut wanted = vec![0; 15];
        (wanted[0], wanted[1], wanted[14]) = (2, 1, 1);
        assert_eq!((point.buckets.clone(), point.sum, point.count()), (wanted, 90_020_001, 4));
    }

    #[test]
    fn too_many_sets_are_told_together_and_the_first_ones_stay() {
        let mut values = Values::default();
        let names: Vec<String> = (0..SETS + 50).rev().map(|n| format!("{n:04}")).collect();
        for name in names.iter().chain(&names[..1]) {
            values.record(&table::ATTEMPTS, &[("a", name)], 1);
        }
        assert_eq!(values.points().count(), SETS + 1);
        assert_eq!(sum_of(&values, &table::ATTEMPTS), SETS as i64 + 51);
        let first = Series {
            instrument: table::ATTEMPTS.name.into(),
            attributes: vec![("a".into(), names[0].clone())],
        };
        assert_eq!(values.points[&first].sum, 2);
    }

    #[test]
    fn what_is_kept_is_the_same_when_it_is_read_and_a_gone_run_has_nothing_under_way() {
        let mut values = Values { workflow: "w".into(), ..Values::default() };
        values.record(&table::OPEN_GATES, &[], 1);
        values.record(&table::INFERENCE, &[("x", "y")], 7);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(serde_json::from_str::<Values>(&text).unwrap(), values);
        let mut sum = Values::default();
        values.add_to(&mut sum);
        assert_eq!((sum_of(&sum, &table::OPEN_GATES), sum_of(&sum, &table::INFERENCE)), (0, 7));
    }
}
