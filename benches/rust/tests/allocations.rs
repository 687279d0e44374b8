//! A guard that needs no clock: the number of allocations of each kernel, their total size, and the peak size.
//!
//! These numbers are the same on every machine. The test fails if a kernel exceeds one of its baselines. If that is
//! justified, `FRAZIL_ACCEPT_BASELINES=1 cargo test -p frazil-benches --test allocations` updates them.

#[path = "../benches/kernels/mod.rs"]
mod kernels;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const BASELINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baselines/allocations.tsv");
const ACCEPT: &str = "FRAZIL_ACCEPT_BASELINES";
/// The tolerance of baselines: a twentieth, and a small constant for the smallest ones.
const TOLERANCE_PERCENT: u64 = 5;
const SLACK: Counts = Counts { allocations: 4, bytes: 1024, peak_bytes: 1024 };

/// The allocations of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    /// The number of allocations and reallocations.
    allocations: u64,
    /// The total size of allocations.
    bytes: u64,
    /// The peak size of allocations.
    peak_bytes: u64,
}

impl Counts {
    const NAMES: [&str; 3] = ["allocations", "bytes", "peak bytes"];

    fn values(self) -> [u64; 3] {
        [self.allocations, self.bytes, self.peak_bytes]
    }
}

thread_local! {
    // Counted per thread, to exclude allocations of the test harness. Kernels run only in this thread.
    static COUNTED: Cell<Option<(Counts, i64)>> = const { Cell::new(None) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    /// Records that the number of allocated bytes increased or decreased.
    fn note(more: usize, fewer: usize) {
        let counted = |cell: &Cell<Option<(Counts, i64)>>| {
            let Some((mut counts, used)) = cell.get() else { return };
            let used = used + more as i64 - fewer as i64;
            if more > 0 {
                counts.allocations += 1;
                counts.bytes += more as u64;
                counts.peak_bytes = counts.peak_bytes.max(used.max(0) as u64);
            }
            cell.set(Some((counts, used)));
        };
        // A thread may still allocate after its thread-local variables are destroyed.
        let _ = COUNTED.try_with(counted);
    }
}

#[expect(unsafe_code, reason = "an allocator that counts")]
// SAFETY: all calls are passed to the system allocator; counting accesses no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size(), 0);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size(), 0);
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::note(0, layout.size());
        // SAFETY: the caller upholds the contract of `dealloc`, and all memory is from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::note(size.saturating_sub(layout.size()), layout.size().saturating_sub(size));
        // SAFETY: the caller upholds the contract of `realloc`, and all memory is from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns the allocations of a kernel, after a run that performs one-time allocations.
fn count(kernel: &kernels::Kernel) -> Counts {
    let mut work = (kernel.make)(kernel.small);
    let first = work();
    COUNTED.set(Some((Counts { allocations: 0, bytes: 0, peak_bytes: 0 }, 0)));
    let second = work();
    let counted = COUNTED.replace(None);
    assert_eq!(first, second, "{} does the same every time", kernel.name);
    counted.map(|(counts, _)| counts).expect("counting went on")
}

#[test]
fn no_kernel_allocates_more_than_its_baseline() {
    let now: Vec<_> = kernels::ALL.iter().map(|kernel| (kernel.name, count(kernel))).collect();
    if std::env::var_os(ACCEPT).is_some() {
        return write(&now);
    }
    let baselines = read();
    let mut exceeded = String::new();
    for (kernel, now) in &now {
        let Some(baseline) = baselines.get(*kernel) else {
            writeln!(exceeded, "  {kernel}: no baseline").unwrap();
            continue;
        };
        let each = Counts::NAMES.iter().zip(baseline.values()).zip(now.values()).zip(SLACK.values());
        for (((what, baseline), now), slack) in each {
            if now > baseline + baseline * TOLERANCE_PERCENT / 100 + slack {
                writeln!(exceeded, "  {kernel}: {what} {now}, baseline {baseline}").unwrap();
            }
        }
    }
    assert!(
        exceeded.is_empty(),
        "kernels exceed a baseline of {BASELINES} by more than {TOLERANCE_PERCENT} %:\n{exceeded}\
         If this is justified, update them: {ACCEPT}=1 cargo test -p frazil-benches --test allocations"
    );
}

#[test]
fn what_is_counted_is_what_is_allocated() {
    let counted = |work: &mut dyn FnMut()| {
        COUNTED.set(Some((Counts { allocations: 0, bytes: 0, peak_bytes: 0 }, 0)));
        work();
        COUNTED.replace(None).unwrap().0.values()
    };
    let mut once = || drop(std::hint::black_box(Vec::<u8>::with_capacity(1000)));
    assert_eq!(counted(&mut once), [1, 1000, 1000]);
    let mut twice = || {
        once();
        once();
    };
    assert_eq!(counted(&mut twice), [2, 2000, 1000]);
    let mut grown = || {
        let mut bytes = Vec::<u8>::with_capacity(10);
        bytes.reserve_exact(50);
        std::hint::black_box(bytes);
    };
    assert_eq!(counted(&mut grown), [2, 50, 50]);
}

fn read() -> BTreeMap<String, Counts> {
    let text = std::fs::read_to_string(BASELINES).unwrap_or_default();
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split('\t');
        let name = cells.next().unwrap_or_default().to_string();
        let mut number = || cells.next().and_then(|cell| cell.parse().ok()).expect("a baseline has three numbers");
        (name, Counts { allocations: number(), bytes: number(), peak_bytes: number() })
    });
    rows.collect()
}

fn write(counts: &[(&str, Counts)]) {
    let mut text = format!("kernel\t{}\n", Counts::NAMES.join("\t"));
    for (kernel, counts) in counts {
        let [allocations, bytes, peak_bytes] = counts.values();
        writeln!(text, "{kernel}\t{allocations}\t{bytes}\t{peak_bytes}").unwrap();
    }
    std::fs::create_dir_all(Path::new(BASELINES).parent().expect("a file is in a folder")).unwrap();
    std::fs::write(BASELINES, text).unwrap();
}
