//! The options of compaction (documentation: "Configuration"): `num-levels`, `num-sorted-run.*`, `compaction.*` and
//! `lookup-compact*`, with the defaults of Java's `CoreOptions`.

use frazil_core::error::{Error, Result};

use crate::merge::{keeps_first, looks_up};
use crate::spec::options::Options;

/// The options that decide when files of a bucket are compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy {
    /// The number of runs from which a merge is due.
    pub compaction_trigger: i32,
    /// The number of runs above which a writer waits for compaction.
    pub stop_trigger: i32,
    /// The minimum number of levels. A bucket with files in higher levels has more levels.
    pub levels: i32,
    /// The total length of all runs except the oldest one, in percent of the oldest one, above which all runs are
    /// merged.
    pub size_amplification_percent: i32,
    /// The percentage by which a run may be longer than the newer runs and still be merged with them.
    pub size_ratio_percent: i32,
    /// Off-peak hours with a different ratio.
    pub off_peak: Option<OffPeak>,
    /// The conditions under which all runs are merged before there are many.
    pub early_full: Option<EarlyFull>,
    /// The rule for how long files may be in level 0.
    pub level_0: Level0,
}

/// Hours of the day in which longer runs are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffPeak {
    /// The first hour.
    pub start_hour: i32,
    /// The hour after the last one; less than `start_hour` if the interval includes midnight.
    pub end_hour: i32,
    /// The percentage that is added to the size ratio.
    pub ratio_percent: i32,
}

/// The conditions under which all runs are merged. Any one of them suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyFull {
    /// The time since the last full compaction.
    pub interval_ms: Option<i64>,
    /// The total length of all runs below which all runs are merged.
    pub total_bytes: Option<i64>,
    /// The total length of the runs below the highest level above which all runs are merged.
    pub incremental_bytes: Option<i64>,
}

/// The rule for how long files may be in level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level0 {
    /// Files stay until another rule picks them.
    Stay,
    /// Each pick includes the files.
    Always,
    /// Files are picked on every n-th pick for which no other rule applies.
    Delay(i32),
}

impl Strategy {
    /// Returns the strategy of a table.
    ///
    /// # Errors
    /// `InvalidArgument` naming an option that does not parse or is out of range.
    pub fn try_new(options: &Options) -> Result<Self> {
        let trigger = options.compaction_trigger()?;
        let stop = options.integer_32("num-sorted-run.stop-trigger")?.unwrap_or(trigger.saturating_add(3));
        Ok(Self {
            compaction_trigger: trigger,
            stop_trigger: stop.max(trigger),
            levels: options.levels()?,
            size_amplification_percent: options.integer_32("compaction.max-size-amplification-percent")?.unwrap_or(200),
            size_ratio_percent: options.integer_32("compaction.size-ratio")?.unwrap_or(1),
            off_peak: OffPeak::try_new(options)?,
            early_full: EarlyFull::try_new(options)?,
            level_0: Level0::try_new(options, trigger)?,
        })
    }
}

impl OffPeak {
    /// Returns the off-peak hours, or None if an hour is -1 or both are the same.
    fn try_new(options: &Options) -> Result<Option<Self>> {
        let start_hour = options.integer_32("compaction.offpeak.start.hour")?.unwrap_or(-1);
        let end_hour = options.integer_32("compaction.offpeak.end.hour")?.unwrap_or(-1);
        let ratio_percent = options.integer_32("compaction.offpeak-ratio")?.unwrap_or(0);
        let is_on = start_hour != -1 && end_hour != -1 && start_hour != end_hour;
        Ok(is_on.then_some(Self { start_hour, end_hour, ratio_percent }))
    }

    /// Returns the percentage that is added to the size ratio at an hour of the day: 0 outside of off-peak hours.
    pub(super) fn ratio_percent_at(self, hour: i32) -> i32 {
        let is_off_peak = if self.start_hour <= self.end_hour {
            (self.start_hour..self.end_hour).contains(&hour)
        } else {
            hour < self.end_hour || self.start_hour <= hour
        };
        if is_off_peak { self.ratio_percent } else { 0 }
    }
}

impl EarlyFull {
    fn try_new(options: &Options) -> Result<Option<Self>> {
        let size = |name: &str| -> Result<Option<i64>> {
            Ok(options.size_bytes(name)?.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
        };
        let interval = options.duration("compaction.optimization-interval")?;
        let early = Self {
            interval_ms: interval.map(|interval| i64::try_from(interval.as_millis()).unwrap_or(i64::MAX)),
            total_bytes: size("compaction.total-size-threshold")?,
            incremental_bytes: size("compaction.incremental-size-threshold")?,
        };
        let none = Self { interval_ms: None, total_bytes: None, incremental_bytes: None };
        Ok((early != none).then_some(early))
    }
}

impl Level0 {
    fn try_new(options: &Options, trigger: i32) -> Result<Self> {
        let forced = options.boolean("compaction.force-up-level-0", false)?;
        if !keeps_first(options) && !looks_up(options)? {
            return Ok(if forced { Self::Always } else { Self::Stay });
        }
        let name = "lookup-compact";
        let mode = options.text(name).unwrap_or("radical").trim();
        if mode.eq_ignore_ascii_case("radical") {
            return Ok(Self::Always);
        }
        if !mode.eq_ignore_ascii_case("gentle") {
            return Err(Error::invalid(format!("the option `{name}` is `{mode}`, expected radical or gentle")));
        }
        let interval = options.integer_32("lookup-compact.max-interval")?.unwrap_or(trigger.saturating_mul(2));
        Ok(Self::Delay(interval.max(trigger)))
    }
}
