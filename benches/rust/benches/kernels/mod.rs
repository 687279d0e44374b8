//! Kernels in isolation, through the public interface of the crates: the benchmarks time them, and the guards count
//! them.

mod bucket;
mod deletes;
mod manifest;
mod merge;

/// Work that is repeated on the same input. It returns a number that depends on the complete output.
pub(crate) type Work = Box<dyn FnMut() -> usize>;

/// A kernel and the size of its input, in rows, entries or positions.
#[allow(dead_code, reason = "timed benchmarks use one size, the guards the other")]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// The size for timing.
    pub(crate) size: usize,
    /// The size for counting, also in builds without optimization.
    pub(crate) small: usize,
    /// Creates the input of a size.
    pub(crate) make: fn(usize) -> Work,
}

impl Kernel {
    const fn new(name: &'static str, size: usize, small: usize, make: fn(usize) -> Work) -> Self {
        Self { name, size, small, make }
    }
}

pub(crate) const ALL: &[Kernel] = &[
    Kernel::new("bucket-int64", 1_000_000, 10_000, bucket::integers),
    Kernel::new("bucket-string", 1_000_000, 10_000, bucket::texts),
    Kernel::new("bucket-decimal", 1_000_000, 10_000, bucket::decimals),
    Kernel::new("manifest-all-columns", 5_000, 200, manifest::all_columns),
    Kernel::new("manifest-projected", 5_000, 200, manifest::projected),
    Kernel::new("plan-all", 5_000, 200, manifest::plan_all),
    Kernel::new("plan-by-bounds", 5_000, 200, manifest::plan_by_bounds),
    Kernel::new("deletion-vector", 10_000_000, 200_000, deletes::vector),
    Kernel::new("position-deletes", 1_000_000, 20_000, deletes::positions),
    Kernel::new("equality-deletes-int64", 1_000_000, 10_000, deletes::equality_integers),
    Kernel::new("equality-deletes-string", 1_000_000, 10_000, deletes::equality_texts),
    Kernel::new("paimon-merge", 1_000_000, 10_000, merge::deduplicate),
];
