//! Feeds damaged bytes to every decoder: `cargo run -p frazil-fuzz -- [--seconds N] [--seed N] [--jobs N] [--target NAME] [FILE ...]`.
//!
//! A decoder may reject its input. It must not panic, or use more memory than [`MEMORY_LIMIT_BYTES`] or more time than
//! [`TIME_LIMIT`]. Input that it accepts must satisfy the laws of its target. Inputs that violate this are written to
//! `fuzz/artifacts`; such a file as an argument is run alone. The same seed produces the same inputs.

mod memory;
mod mutate;
mod seeds;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::Target;

/// The memory limit, which is more than any input needs and low enough for a small machine.
const MEMORY_LIMIT_BYTES: usize = 256 << 20;

/// The time limit for one input, in a build with checks.
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// The maximum number of failures of one target that are shown.
const FAILURES_SHOWN: usize = 5;

struct Options {
    seconds: f64,
    jobs: usize,
    seed: u64,
    target: Option<String>,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let chosen: Vec<&Target> =
        targets::all().filter(|target| options.target.as_deref().is_none_or(|name| name == target.name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = targets::all().map(|target| target.name).collect();
        eprintln!("error: unknown target; known targets are {}", names.join(", "));
        return ExitCode::from(2);
    }
    // A caught panic is reported once, below.
    std::panic::set_hook(Box::new(|_| {}));
    let failures = if options.jobs > 1 && chosen.len() > 1 {
        run_in_processes(&chosen, &options)
    } else {
        chosen.into_iter().map(|target| run(target, &options)).sum()
    };
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 10.0, jobs: 1, seed: 1, target: None, files: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} requires a value"));
        match argument.as_str() {
            "--seconds" => options.seconds = value()?.parse().map_err(|_| "--seconds requires a number")?,
            "--jobs" => options.jobs = value()?.parse().map_err(|_| "--jobs requires a number")?,
            "--seed" => options.seed = value()?.parse().map_err(|_| "--seed requires a number")?,
            "--target" => options.target = Some(value()?),
            option if option.starts_with("--") => return Err(format!("unknown option {option}")),
            file => options.files.push(PathBuf::from(file)),
        }
    }
    Ok(options)
}

/// Runs each target in a separate process, several at a time, because memory is measured per process.
fn run_in_processes(chosen: &[&Target], options: &Options) -> usize {
    let next = AtomicUsize::new(0);
    let failures = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(target) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failures.fetch_add(run_in_process(target, options), Ordering::Relaxed);
                }
            });
        }
    });
    failures.into_inner()
}

fn run_in_process(target: &Target, options: &Options) -> usize {
    let (seconds, seed) = (options.seconds.to_string(), options.seed.to_string());
    let arguments = ["--target", target.name, "--seconds", &seconds, "--seed", &seed];
    let outcome =
        std::env::current_exe().and_then(|program| Command::new(program).args(arguments).args(&options.files).output());
    match outcome {
        Ok(output) => {
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            if !output.status.success() {
                println!("{:<23} ended with {}", target.name, output.status);
            }
            usize::from(!output.status.success())
        }
        Err(error) => {
            println!("{:<23} could not be started: {error}", target.name);
            1
        }
    }
}

/// Runs one target on files, or on its seeds and then on damaged copies of them until the time is up.
fn run(target: &Target, options: &Options) -> usize {
    let replayed = options.files.iter().filter_map(|file| std::fs::read(file).ok()).collect::<Vec<_>>();
    let replaying = !options.files.is_empty();
    let seeds = if replaying { replayed } else { seeds::of(target) };
    if seeds.is_empty() {
        println!("{:<23} has no seeds", target.name);
        return 1;
    }
    let start = Instant::now();
    let mut mutator = Mutator::new(options.seed);
    let (mut inputs, mut failures) = (0_u64, 0);
    let mut accepted = 0_u64;
    let mut attempt = |input: &[u8]| {
        inputs += 1;
        match judge(target, input) {
            Ok(was_accepted) => accepted += u64::from(was_accepted),
            Err(what) => {
                failures += 1;
                println!("{:<23} {what}; {}", target.name, keep(target, input));
            }
        }
        failures < FAILURES_SHOWN
    };
    let mut going = seeds.iter().all(|seed| attempt(seed));
    while going && !replaying && start.elapsed().as_secs_f64() < options.seconds {
        going = attempt(&mutator.damaged(&seeds));
    }
    println!(
        "{:<23} {failures} failures, {inputs} inputs from {} seeds, {accepted} accepted, {:.1} s",
        target.name,
        seeds.len(),
        start.elapsed().as_secs_f64()
    );
    if accepted == 0 && !replaying {
        println!("{:<23} accepts none of its seeds: they are outdated", target.name);
        return failures + 1;
    }
    failures
}

/// Returns whether the decoder accepted the input, or a description of its failure.
fn judge(target: &Target, input: &[u8]) -> Result<bool, String> {
    let start = Instant::now();
    memory::reset_peak();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let peak = memory::peak_bytes();
    if start.elapsed() > TIME_LIMIT {
        return Err(format!("took {:.1} s", start.elapsed().as_secs_f64()));
    }
    if peak > MEMORY_LIMIT_BYTES {
        return Err(format!("used {} MiB", peak >> 20));
    }
    match outcome {
        Ok(Ok(())) => Ok(true),
        Ok(Err(targets::Refusal::Error)) => Ok(false),
        Ok(Err(targets::Refusal::BrokenLaw(law))) => Err(format!("violated a law: {law}")),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(format!("panicked: {text}"))
        }
    }
}

/// Writes an input that failed, and returns how to run it again.
fn keep(target: &Target, input: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let file = folder.join(format!("{}-{hash:016x}", target.name));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, input)) {
        Ok(()) => format!("run it with --target {} {}", target.name, file.display()),
        Err(error) => format!("the input could not be saved: {error}"),
    }
}
