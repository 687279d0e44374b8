//! Packs tasks into balanced groups, for engines that run many tasks in parallel.

use std::collections::HashSet;

use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::pack::first_fit_decreasing;

use super::plan::Plan;
use super::task::FileScanTask;
use super::wire;

impl Plan {
    /// Returns the wire forms of groups of tasks of about `target_bytes` each, largest files first, each file once.
    /// Files above the target are split at their split offsets; each task counts as at least `open_cost_bytes`.
    pub fn groups(&self, target_bytes: i64, open_cost_bytes: i64, context: &Context) -> Result<Vec<Vec<u8>>> {
        self.groups_without(&HashSet::new(), target_bytes, open_cost_bytes, context)
    }

    /// Returns the groups of [`Plan::groups`] without the tasks at these positions, which the caller reads in another
    /// way.
    pub fn groups_without(
        &self,
        without: &HashSet<usize>,
        target_bytes: i64,
        open_cost_bytes: i64,
        context: &Context,
    ) -> Result<Vec<Vec<u8>>> {
        let mut tasks = Vec::new();
        for index in (0..self.len()).filter(|index| !without.contains(index)) {
            context.check()?;
            tasks.extend(self.task(index)?.split(target_bytes));
        }
        let weight = |task: &FileScanTask| task.size_bytes().max(open_cost_bytes);
        first_fit_decreasing(tasks, target_bytes, weight).iter().map(|group| wire::write(group)).collect()
    }

    /// Returns the wire forms of groups of the tasks at `indices`, like [`Plan::groups`] but without splitting files.
    /// Each group includes the positions of its tasks.
    pub fn whole_groups(
        &self,
        indices: &[usize],
        target_bytes: i64,
        open_cost_bytes: i64,
        context: &Context,
    ) -> Result<Vec<(Vec<usize>, Vec<u8>)>> {
        let mut tasks = Vec::new();
        for &index in indices {
            context.check()?;
            tasks.push((index, self.task(index)?));
        }
        let weight = |(_, task): &(usize, FileScanTask)| task.size_bytes().max(open_cost_bytes);
        let groups = first_fit_decreasing(tasks, target_bytes, weight).into_iter().map(|group| {
            let (places, tasks): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            Ok((places, wire::write(&tasks)?))
        });
        groups.collect()
    }
}
