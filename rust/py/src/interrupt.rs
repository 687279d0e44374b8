//! Runs Rust code without the GIL: signals are handled, and panics become errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use frazil_core::cache::Cache;
use frazil_core::context::{Budget, Context};
use frazil_core::error::{Error, Result};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// The interval at which a waiting main thread checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs short work without the GIL.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    py.detach(|| guarded(work)).or_raise(py)
}

/// Runs long work on another thread, while this one checks for signals: Ctrl-C cancels the work and raises an
/// exception.
pub(crate) fn interruptible<R: Send>(py: Python<'_>, work: impl FnOnce(&Context) -> Result<R> + Send) -> PyResult<R> {
    let context = limited(py)?;
    let mut signal = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = sync_channel(1);
            let context = &context;
            scope.spawn(move || done.send(guarded(|| work(context))));
            loop {
                match wait.recv_timeout(SIGNAL_INTERVAL) {
                    Ok(result) => return result,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::internal("a worker ended without a result"));
                    }
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        signal = pending_signal();
                        if signal.is_some() {
                            context.cancel();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match signal {
        Some(signal) => Err(signal),
        None => result.or_raise(py),
    }
}

/// Returns the exception that a Python signal handler raised, if there was a signal.
fn pending_signal() -> Option<PyErr> {
    Python::attach(|py| py.check_signals().err())
}

/// Returns a context whose budget is `frazil.config.memory_limit`, and limits the cache to `frazil.config.cache_bytes`.
pub(crate) fn limited(py: Python<'_>) -> PyResult<Context> {
    let config = py.import("frazil.config")?.getattr("config")?;
    let limit_bytes = config.getattr("memory_limit")?.extract()?;
    let cache_bytes: u64 = config.getattr("cache_bytes")?.extract()?;
    if Cache::of_process().limit_bytes() != cache_bytes {
        Cache::of_process().set_limit_bytes(cache_bytes);
    }
    Ok(Context::new(Budget::new(limit_bytes)))
}

thread_local! {
    /// The location of the last panic in this thread.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Records the location of a panic for the resulting error, instead of printing it.
pub(crate) fn keep_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            print(panic);
        }
        let place = panic.location().map(|place| format!("{}:{}", source_file(place.file()), place.line()));
        PANICKED_AT.set(place);
    }));
}

/// Returns the path of a source file without the folders of the build machine: it begins with the crate name.
fn source_file(path: &str) -> &str {
    let start = path.rfind("/src/").and_then(|end| path.get(..end)).and_then(|before| before.rfind('/'));
    start.and_then(|start| path.get(start + 1..)).unwrap_or(path)
}

/// Runs work and converts a panic to an error that reports a bug, so that it never unwinds into Python.
pub(crate) fn guarded<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(&*panic)))
}

/// Runs work that calls Python, like [`guarded`].
pub(crate) fn guarded_call<R>(py: Python<'_>, work: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(of_panic(&*panic)).or_raise(py))
}

fn of_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let error = Error::internal(format!("panic: {}", text.unwrap_or("of an unknown kind")));
    let error = error.hint("this is a bug in frazil; please report it");
    match PANICKED_AT.take() {
        Some(place) => error.with("source", place),
        None => error,
    }
}
