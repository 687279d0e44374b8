//! Runs a kernel once to make what is made once, and once to be counted: `once NAME`; without a name it gives all names.
//!
//! `benches/rust/instructions.py` runs it in Valgrind, which counts the instructions of [`frazil_counted`].

#[path = "../benches/kernels/mod.rs"]
mod kernels;

use kernels::Work;

fn main() {
    let Some(name) = std::env::args().nth(1) else {
        for kernel in kernels::ALL {
            println!("{}", kernel.name);
        }
        return;
    };
    let kernel = kernels::ALL.iter().find(|kernel| kernel.name == name).expect("a kernel has this name");
    let mut work = (kernel.make)(kernel.small);
    work();
    let mut result = 0;
    frazil_counted(&mut work, &mut result);
    println!("{result}");
}

/// What Valgrind counts; its name stands in the binary as it is.
#[inline(never)]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a name that is the same in every build")]
extern "C" fn frazil_counted(work: &mut Work, result: &mut usize) {
    *result = work();
}
