//! Runs work on several threads, with results in the order of the input.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Applies `f` to every item on at most `workers` threads. The first error stops the remaining work and is returned;
/// results are in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], workers: usize, f: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    if workers <= 1 || items.len() <= 1 {
        return items.iter().map(f).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        let mut done = Vec::new();
        while let Some((i, item)) = claim(items, &next) {
            match f(item) {
                Ok(result) => done.push((i, result)),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(error);
                    }
                }
            }
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.min(items.len())).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| Error::internal("a worker panicked")))
            .collect::<Result<Vec<_>>>()
    })?
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    if let Some(error) = failed.into_inner().ok().flatten() {
        return Err(error);
    }
    done.sort_unstable_by_key(|(i, _)| *i);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn claim<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    // After a failure, the counter is at the end. Each thread may then increment it once more, which cannot overflow.
    let i = next.fetch_add(1, Ordering::Relaxed);
    items.get(i).map(|item| (i, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        for workers in [1, 2, 7] {
            assert_eq!(map(&items, workers, |&i| Ok(i * 2)).unwrap(), items.iter().map(|i| i * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_is_returned_and_stops_the_rest() {
        let items: Vec<usize> = (0..1000).collect();
        let error = map(&items, 3, |&i| if i == 17 { Err(Error::corrupt("17")) } else { Ok(i) }).unwrap_err();
        assert_eq!(error.message(), "17");
    }
}
