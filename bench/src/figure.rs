//! A measured figure and its bound.

use crate::rounds::median;
use serde::Serialize;

/// One figure: the median of its samples.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// The benchmark it belongs to.
    pub benchmark: &'static str,
    /// What it is.
    pub name: String,
    /// In what it is counted.
    pub unit: &'static str,
    /// The figure.
    pub value: f64,
    /// The most it may be; without one it is for orientation.
    pub bound: Option<f64>,
    /// What was measured, round by round.
    pub samples: Vec<f64>,
}

impl Figure {
    /// The median of some samples.
    pub fn new(
        benchmark: &'static str,
        name: impl Into<String>,
        unit: &'static str,
        samples: Vec<f64>,
    ) -> Figure {
        Figure { benchmark, name: name.into(), unit, value: median(&samples), bound: None, samples }
    }

    /// The same with a bound.
    pub fn at_most(self, bound: f64) -> Figure {
        Figure { bound: Some(bound), ..self }
    }

    /// Whether it keeps its bound, if it has one. What could not be measured does not.
    pub fn met(&self) -> Option<bool> {
        self.bound.map(|bound| self.value <= bound)
    }

    /// The least and the most that was measured.
    pub fn range(&self) -> (f64, f64) {
        let least = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.samples.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_keeps_its_bound_or_not() {
        let figure = |bound| Figure::new("b", "f", "ms", vec![3.0, 1.0, 2.0]).at_most(bound);
        assert_eq!((figure(2.0).met(), figure(1.9).met()), (Some(true), Some(false)));
        assert_eq!(Figure::new("b", "f", "ms", vec![]).at_most(1.0).met(), Some(false));
        assert_eq!(Figure::new("b", "f", "ms", vec![1.0]).met(), None);
    }
}
