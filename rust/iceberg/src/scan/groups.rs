//! Tasks packed into balanced groups, for engines that run many at once.

use frazil_core::context::Context;
use frazil_core::error::Result;

use super::plan::Plan;
use super::task::FileScanTask;
use super::wire;

impl Plan {
    /// Wire forms of groups of tasks of about `target_bytes` each, the largest files first, every file once. Files
    /// above the target are split at their split offsets; each task counts at least `open_cost_bytes`.
    pub fn groups(&self, target_bytes: i64, open_cost_bytes: i64, context: &Context) -> Result<Vec<Vec<u8>>> {
        let mut tasks = Vec::new();
        for index in 0..self.len() {
            context.check()?;
            tasks.extend(self.task(index)?.split(target_bytes));
        }
        pack(tasks, target_bytes, open_cost_bytes).iter().map(|group| wire::write(group)).collect()
    }
}

/// First fit of tasks in descending weight; groups keep the order in which they were begun.
fn pack(mut tasks: Vec<FileScanTask>, target_bytes: i64, open_cost_bytes: i64) -> Vec<Vec<FileScanTask>> {
    /// How many groups are looked at for room: planning stays linear.
    const LOOKBACK: usize = 10;
    let weight = |task: &FileScanTask| task.size_bytes().max(open_cost_bytes);
    tasks.sort_by_key(|task| std::cmp::Reverse(weight(task)));
    let mut groups: Vec<(i64, Vec<FileScanTask>)> = Vec::new();
    for task in tasks {
        let weight = weight(&task);
        let recent = groups.len().saturating_sub(LOOKBACK);
        let room = groups.iter_mut().skip(recent).find(|(used, _)| used.saturating_add(weight) <= target_bytes);
        match room {
            Some((used, group)) => {
                *used += weight;
                group.push(task);
            }
            None => groups.push((weight, vec![task])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
