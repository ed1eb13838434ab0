//! What processes take, as Linux counts it.

use std::ops::Sub;

use crate::row;

/// Memory of one or several processes, in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Resident memory, shared or not.
    pub(crate) resident: f64,
    /// The same with what is shared divided among those who share it.
    pub(crate) fair_share: f64,
    /// Its anonymous part: heap and stacks.
    pub(crate) own: f64,
}

impl Memory {
    /// Measures processes. `None` if the kernel does not report it.
    pub(crate) fn of(processes: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut sum = Self::default();
        for process in processes {
            let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
            let kib = |key: &str| {
                let line = rollup.lines().find(|line| line.starts_with(key))?;
                line.split_whitespace().nth(1)?.parse::<f64>().ok()
            };
            sum.resident += kib("Rss:")?;
            sum.fair_share += kib("Pss:")?;
            sum.own += kib("Pss_Anon:")?;
        }
        Some(sum)
    }

    /// Prints all of it; the aim is for each of the first two.
    pub(crate) fn tell(measured: Option<Self>, figure: &str, aim: &str) {
        let Some(memory) = measured else { return row(figure, "-", "Linux only") };
        row(&format!("{figure}: resident"), &megabytes(memory.resident), aim);
        row("  with shared pages divided (PSS)", &megabytes(memory.fair_share), aim);
        row("  of that heap and stacks", &megabytes(memory.own), "-");
    }
}

impl Sub for Memory {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            resident: self.resident - other.resident,
            fair_share: self.fair_share - other.fair_share,
            own: self.own - other.own,
        }
    }
}

fn megabytes(kib: f64) -> String {
    format!("{:.1} MB", kib * 1024.0 / 1e6)
}
