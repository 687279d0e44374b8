//! Picks the runs to merge next, based only on sizes and counts (`UniversalCompaction`, `ForceUpLevel0Compaction`,
//! `EarlyFullCompaction`, `CompactStrategy.pickFullCompaction`).
//!
//! The first rule that applies decides:
//!
//! 1. Early full compaction: all runs, by elapsed time or length.
//! 2. Size amplification: all runs, if the newer ones are long compared to the oldest one.
//! 3. Size ratio: the newest runs, as long as the next run is not much longer than those before it.
//! 4. Number of runs: enough runs that at most the trigger remains, and further runs by size ratio.
//! 5. Level 0, if it must become empty: its files, and further runs by size ratio.
//!
//! Rules 2 and 3 require at least as many runs as the trigger.

use super::levels::{Levels, Run};
use super::strategy::{Level0, Strategy};

/// Files that are merged, and the level of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The level of the result; never 0.
    pub output_level: i32,
    /// Positions in the list of files that the levels were built from; never empty.
    pub files: Vec<usize>,
    /// Whether each file is rewritten on its own instead of being merged with the other files.
    pub rewrites: bool,
}

/// The current time, as compaction needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the epoch.
    pub ms: i64,
    /// The hour of the day in the time zone of the writer, 0 to 23.
    pub hour: i32,
}

/// The state that picks the runs of one bucket and remembers earlier picks. A writer has one picker per bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    pub(super) strategy: Strategy,
    pub(super) last_full_ms: Option<i64>,
    pub(super) delays: i32,
}

impl Picker {
    /// Creates a picker without earlier picks.
    pub fn new(strategy: Strategy) -> Self {
        Self { strategy, last_full_ms: None, delays: 0 }
    }

    /// Returns the options.
    pub fn strategy(&self) -> &Strategy {
        &self.strategy
    }

    /// Returns whether a writer must wait for compaction before it adds further files.
    pub fn must_wait(&self, levels: &Levels) -> bool {
        i32::try_from(levels.runs().len()).unwrap_or(i32::MAX) > self.strategy.stop_trigger
    }

    /// Returns the next merge, or None if no merge is due.
    pub fn pick(&mut self, levels: &Levels, now: Now) -> Option<Unit> {
        let unit = self.universal(levels, now).or_else(|| self.level_0(levels, now))?;
        let only = unit.files.len() == 1
            && levels.runs().iter().any(|run| run.files == unit.files && run.level == unit.output_level);
        (!unit.files.is_empty() && !only).then_some(unit)
    }

    fn universal(&mut self, levels: &Levels, now: Now) -> Option<Unit> {
        if self.is_early_full(levels, now) || self.is_amplified(levels.runs()) {
            return Some(self.all(levels, now));
        }
        let trigger = usize::try_from(self.strategy.compaction_trigger).unwrap_or(usize::MAX);
        let count = levels.runs().len();
        if count < trigger {
            return None;
        }
        let by_ratio = self.extended(levels.runs(), 1, now);
        if by_ratio > 1 {
            return Some(self.youngest(levels, by_ratio, now));
        }
        let excess = count.checked_sub(trigger).filter(|excess| *excess > 0)?.saturating_add(1);
        let taken = self.extended(levels.runs(), excess, now);
        Some(self.youngest(levels, taken, now))
    }

    fn level_0(&mut self, levels: &Levels, now: Now) -> Option<Unit> {
        match self.strategy.level_0 {
            Level0::Stay => return None,
            Level0::Always => {}
            Level0::Delay(most) => {
                self.delays = self.delays.wrapping_add(1);
                if self.delays != most {
                    return None;
                }
                self.delays = 0;
            }
        }
        let files = levels.runs().iter().take_while(|run| run.level == 0).count();
        if files == 0 {
            return None;
        }
        let taken = self.extended(levels.runs(), files, now);
        Some(self.youngest(levels, taken, now))
    }

    fn is_early_full(&self, levels: &Levels, now: Now) -> bool {
        let Some(early) = self.strategy.early_full else { return false };
        let runs = levels.runs();
        if runs.len() == 1 {
            return false;
        }
        let is_long_ago = |interval| self.last_full_ms.is_none_or(|last| now.ms.saturating_sub(last) > interval);
        let below = runs.iter().filter(|run| run.level != levels.max_level());
        early.interval_ms.is_some_and(is_long_ago)
            || early.total_bytes.is_some_and(|limit| size(runs) < i128::from(limit))
            || early.incremental_bytes.is_some_and(|limit| size(below) > i128::from(limit))
    }

    fn is_amplified(&self, runs: &[Run]) -> bool {
        let trigger = usize::try_from(self.strategy.compaction_trigger).unwrap_or(usize::MAX);
        let Some((oldest, younger)) = runs.split_last().filter(|_| runs.len() >= trigger) else { return false };
        let percent = i128::from(self.strategy.size_amplification_percent);
        size(younger).saturating_mul(100) > percent.saturating_mul(i128::from(oldest.size_bytes))
    }

    /// Returns the number of runs to merge: `least`, and further runs by size ratio.
    fn extended(&self, runs: &[Run], least: usize, now: Now) -> usize {
        let off_peak = self.strategy.off_peak.map_or(0, |off_peak| off_peak.ratio_percent_at(now.hour));
        // The order of operations, and thus the rounding, matches Java.
        let percent = 100.0 + f64::from(self.strategy.size_ratio_percent) + f64::from(off_peak);
        let mut taken_bytes = size(runs.iter().take(least));
        let mut taken = least;
        for next in runs.iter().skip(least) {
            if taken_bytes as f64 * percent / 100.0 < next.size_bytes as f64 {
                break;
            }
            taken_bytes = taken_bytes.saturating_add(i128::from(next.size_bytes));
            taken = taken.saturating_add(1);
        }
        taken
    }

    /// Returns the unit that merges the newest runs. The output level is one below that of the next run. The output
    /// level must not be 0, so further runs are included up to the first run above level 0.
    fn youngest(&mut self, levels: &Levels, taken: usize, now: Now) -> Unit {
        let runs = levels.runs();
        let mut taken = taken;
        let mut output_level = runs.get(taken).map_or(0, |next| next.level.saturating_sub(1).max(0));
        if output_level == 0 {
            for next in runs.iter().skip(taken) {
                taken = taken.saturating_add(1);
                if next.level != 0 {
                    output_level = next.level;
                    break;
                }
            }
        }
        if taken >= runs.len() {
            return self.all(levels, now);
        }
        Unit { output_level, files: files(runs.iter().take(taken)), rewrites: false }
    }

    fn all(&mut self, levels: &Levels, now: Now) -> Unit {
        if self.strategy.early_full.is_some() {
            self.last_full_ms = Some(now.ms);
        }
        Unit { output_level: levels.max_level(), files: files(levels.runs()), rewrites: false }
    }
}

/// Returns the unit of all files, or None if there is nothing to do. If all files are already in the highest level,
/// only files for which `must_rewrite` is true are rewritten: those with rows of a deletion vector or expired rows.
pub fn pick_full(levels: &Levels, must_rewrite: &dyn Fn(usize) -> bool) -> Option<Unit> {
    let output_level = levels.max_level();
    let unit = match levels.runs() {
        [only] if only.level == output_level => {
            let files = only.files.iter().copied().filter(|file| must_rewrite(*file)).collect();
            Unit { output_level, files, rewrites: true }
        }
        runs => Unit { output_level, files: files(runs), rewrites: false },
    };
    (!unit.files.is_empty()).then_some(unit)
}

fn size<'a>(runs: impl IntoIterator<Item = &'a Run>) -> i128 {
    runs.into_iter().fold(0, |sum, run| sum.saturating_add(i128::from(run.size_bytes)))
}

fn files<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<usize> {
    runs.into_iter().flat_map(|run| run.files.iter().copied()).collect()
}
