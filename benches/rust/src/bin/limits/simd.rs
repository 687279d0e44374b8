//! Compiles a loop for several instruction sets.

/// Defines a function whose body is a loop that the compiler can vectorize. It is compiled three times: for AVX-512,
/// for AVX2 and for the baseline. The best version that the machine supports is called.
macro_rules! dispatched {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        fn $name($($argument: $kind),*) {
            #[inline(always)]
            fn portable($($argument: $kind),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512($($argument: $kind),*) {
                    portable($($argument),*);
                }

                #[target_feature(enable = "avx2,bmi1,bmi2")]
                fn avx2($($argument: $kind),*) {
                    portable($($argument),*);
                }

                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the processor supports the instructions.
                    #[expect(unsafe_code, reason = "instructions that not every processor supports")]
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                {
                    // SAFETY: the processor supports the instructions.
                    #[expect(unsafe_code, reason = "instructions that not every processor supports")]
                    return unsafe { avx2($($argument),*) };
                }
            }
            portable($($argument),*);
        }
    };
}
pub(crate) use dispatched;
