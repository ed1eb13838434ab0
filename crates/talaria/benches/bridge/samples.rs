//! Times of many runs. Any disturbance makes a run slower: the median is printed, and the best next to it.

use crate::row;

/// Milliseconds.
#[derive(Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Takes one, in nanoseconds.
    pub(crate) fn take(&mut self, nanos: i64) {
        self.0.push(nanos as f64 / 1e6);
    }

    pub(crate) fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 2]
    }

    pub(crate) fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Prints the median; the aim is for it.
    pub(crate) fn tell(&mut self, figure: &str, aim: &str) {
        let (median, best) = (self.median(), self.best());
        row(&format!("{figure} (best {best:.2})"), &millis(median), aim);
    }
}

pub(crate) fn millis(time: f64) -> String {
    format!("{time:.2} ms")
}
