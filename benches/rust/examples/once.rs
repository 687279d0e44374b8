//! Runs a kernel once as a warm-up, and once for counting: `once NAME`. Without a name, it prints all names.
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
    let kernel = kernels::ALL.iter().find(|kernel| kernel.name == name).expect("unknown kernel name");
    let mut work = (kernel.make)(kernel.small);
    work();
    let mut result = 0;
    frazil_counted(&mut work, &mut result);
    println!("{result}");
}

/// Runs the work that Valgrind counts. The name of this function is not mangled in the binary.
#[inline(never)]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a fixed name in every build")]
extern "C" fn frazil_counted(work: &mut Work, result: &mut usize) {
    *result = work();
}
