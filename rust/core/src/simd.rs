//! Compiles loops for the vector instructions of the current processor.
//!
//! Wheels are built for the oldest x86-64, which does not have a 32-bit vector multiplication. A [`Kernel`] is plain,
//! safe code over slices. [`run`] contains a copy of the kernel for each instruction set level for which the compiler
//! vectorises it, and selects a copy at run time. On other processors (AArch64 always has NEON) only the portable copy
//! exists.

/// A loop that is compiled for several instruction set levels. All functions that it calls in the loop must be
/// `#[inline(always)]`, because only inlined code is compiled for the level.
pub trait Kernel {
    /// The result of the loop.
    type Output;

    /// Runs the loop; must be `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// The instruction set levels for which a kernel is compiled. Tests run kernels at every level that the processor
/// supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The baseline of the target.
    Portable,
    /// Vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Vectors of 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Returns the best level that this processor supports.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::Portable)
    }

    /// Returns the levels that this processor supports, in ascending order.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let wide = [(Self::Avx2, has_avx2()), (Self::Avx512, has_avx512())];
        #[cfg(not(target_arch = "x86_64"))]
        let wide: [(Self, bool); 0] = [];
        let wide = wide.into_iter().filter(|(_, there)| *there).map(|(level, _)| level);
        std::iter::once(Self::Portable).chain(wide)
    }
}

/// Runs a kernel at the best level that the processor supports.
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    run_at(Level::best(), kernel)
}

/// Runs a kernel at `level`; runs the portable copy if the processor does not support the level.
#[expect(unsafe_code, reason = "functions with target features are called only if the processor supports them")]
pub fn run_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        // SAFETY: the function requires only the AVX-512 instructions, whose presence was just checked.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if has_avx512() => unsafe { avx512(kernel) },
        // SAFETY: the function requires only the AVX2 instructions, whose presence was just checked.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if has_avx2() => unsafe { avx2(kernel) },
        _ => kernel.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Returns whether the processor supports the features of `avx2`. The standard library caches the result.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Returns whether the processor supports the features of `avx512`.
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u32]);

    impl Kernel for Sum<'_> {
        type Output = u32;

        #[inline]
        fn run(self) -> u32 {
            self.0.iter().fold(0, |sum, value| sum.wrapping_add(value.wrapping_mul(*value)))
        }
    }

    #[test]
    fn every_level_gives_the_same() {
        let values: Vec<u32> = (0..1001).map(|i| i * 7919).collect();
        let portable = Sum(&values).run();
        assert_eq!(run(Sum(&values)), portable);
        for level in Level::available() {
            assert_eq!(run_at(level, Sum(&values)), portable, "{level:?}");
        }
    }
}
