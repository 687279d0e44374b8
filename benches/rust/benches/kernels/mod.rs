//! The kernels alone, through the public interface of the crates: what is timed, and what the regression guard counts.

mod bucket;
mod deletes;
mod manifest;
mod merge;

/// Work that is done again and again on the same input. It gives a number that depends on all of the output.
pub(crate) type Work = Box<dyn FnMut() -> usize>;

/// A kernel and how large its input is, in rows, entries or positions.
#[allow(dead_code, reason = "what times takes one size, what counts the other")]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// When it is timed.
    pub(crate) size: usize,
    /// When it is counted, in a build without optimisation too.
    pub(crate) small: usize,
    /// Makes the input of a size.
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
