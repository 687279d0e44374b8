//! Measures CPU time and prints the result.

use std::mem::MaybeUninit;
use std::time::Duration;

/// Returns the CPU time of this process so far.
#[expect(unsafe_code, reason = "the standard library does not provide CPU time")]
pub(crate) fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is writable memory for one `timespec`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(failed, 0, "CPU time is not available");
    // SAFETY: the call succeeded and initialized it.
    let time = unsafe { time.assume_init() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the peak resident memory of this process in MiB.
#[expect(unsafe_code, reason = "the standard library does not provide the memory of a process")]
fn peak_mib() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is writable memory for one `rusage`.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    assert_eq!(failed, 0, "the resource usage of this process is not available");
    // SAFETY: the call succeeded and initialized it.
    let usage = unsafe { usage.assume_init() };
    let bytes = if cfg!(target_vendor = "apple") { 1.0 } else { 1024.0 };
    usage.ru_maxrss as f64 * bytes / f64::from(1 << 20)
}

/// Runs `pass` several times and prints the best time, with a check number computed from its `output`.
pub(crate) fn best<T>(
    limit: &str,
    passes: usize,
    mut output: T,
    mut pass: impl FnMut(&mut T),
    check: impl FnOnce(&T) -> u64,
) {
    let mut best = Duration::MAX;
    for _ in 0..passes {
        let start = cpu_time();
        pass(&mut output);
        best = best.min(cpu_time().saturating_sub(start));
    }
    print(limit, best, check(&output));
}

/// Prints a limit.
pub(crate) fn print(limit: &str, time: Duration, check: u64) {
    let (cpu_s, rss_mib) = (time.as_secs_f64(), peak_mib());
    println!("{{\"limit\": \"{limit}\", \"cpu_s\": {cpu_s:.7}, \"rss_mib\": {rss_mib:.1}, \"check\": {check}}}");
}
