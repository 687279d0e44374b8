//! The Tokio runtime shared by all stores, created on first use and again after a fork.

use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

use frazil_core::error::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};

const WORKER_THREADS: usize = 4;

static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// Runs a future to completion and returns its result. May be called from any thread, including one of another runtime.
///
/// # Errors
/// `Storage` if no thread can be started; `Internal` if the future panics.
pub(crate) fn block_on<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    runtime()?.spawn(async move {
        // Sending fails only if the receiving thread died.
        let _ = sender.send(future.await);
    });
    receiver.recv().map_err(|_| Error::internal("a storage operation panicked"))
}

fn runtime() -> Result<Arc<Runtime>> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if let Some((owner, runtime)) = slot.as_ref()
        && *owner == pid
    {
        return Ok(runtime.clone());
    }
    let made = Builder::new_multi_thread().worker_threads(WORKER_THREADS).thread_name("frazil-io").enable_all().build();
    let made = Arc::new(made.map_err(|e| Error::new(ErrorKind::Storage, "cannot start an I/O thread").caused_by(e))?);
    if let Some(inherited) = slot.replace((pid, made.clone())) {
        // The threads of the inherited runtime exist only in the parent process. Dropping the runtime would wait for
        // them.
        std::mem::forget(inherited);
    }
    Ok(made)
}
