//! Measures physical limits: the minimum time of a job on this machine, with loops that do nothing else.
//!
//! `cargo run --release -p frazil-benches --bin limits -- COMMAND` prints a line of JSON for each limit. `limit` is its
//! name, `cpu_s` the CPU seconds of the best of several passes on one thread, and `rss_mib` the peak resident memory.
//! `check` is a number that another implementation reproduces. Kernels are compiled for several instruction sets, and
//! the best one that the machine supports is chosen, so a plain build suffices.

use std::process::ExitCode;

mod bounds;
mod hash;
mod mask;
mod measure;
mod probe;
mod simd;
mod walk;

const COMMANDS: &str = "\
usage: limits COMMAND
  walk PATH...   decompress manifests and visit every field of every entry; PATH is a manifest or a table folder
  repack LEVEL PATH...   decompress manifests and compress them again
  bandwidth      compare two columns of bounds, 40 MB, with a value
  hash-i64       Iceberg's bucket[64] of 50,000,000 integers
  hash-str16     Iceberg's bucket[64] of 10,000,000 strings of 16 bytes
  mask           a deletion vector of 10,000,000 rows, 10 % deleted: CRC-32, and its containers as a mask
  probe-i64      look up 20,000,000 integers in a table of 1,000,000
  probe-str      look up 20,000,000 strings of 16 bytes in a table of 1,000,000
  all            all commands except walk and repack";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["walk", paths @ ..] if !paths.is_empty() => return walk::walk(paths),
        ["repack", level, paths @ ..] if !paths.is_empty() => return walk::repack(level, paths),
        ["bandwidth"] => bounds::bandwidth(),
        ["hash-i64"] => hash::integers(),
        ["hash-str16"] => hash::texts(),
        ["mask"] => mask::mask(),
        ["probe-i64"] => probe::integers(),
        ["probe-str"] => probe::texts(),
        ["all"] => {
            bounds::bandwidth();
            hash::integers();
            hash::texts();
            mask::mask();
            probe::integers();
            probe::texts();
        }
        _ => {
            eprintln!("{COMMANDS}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
