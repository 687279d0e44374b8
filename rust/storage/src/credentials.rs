//! Expiring credentials: a catalog provides them for the files of a table, and renews them before they expire.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use frazil_core::clock::now_ms;
use frazil_core::error::Result;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::CredentialProvider;

/// Storage properties with credentials, and the time to renew them.
#[derive(Clone)]
pub struct Vended {
    /// The properties.
    pub properties: BTreeMap<String, String>,
    /// The time at which the credentials are renewed, in milliseconds since the epoch; None if they do not expire.
    pub renew_at_ms: Option<i64>,
}

/// The debug form omits the properties.
impl fmt::Debug for Vended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vended").field("renew_at_ms", &self.renew_at_ms).finish_non_exhaustive()
    }
}

/// A source of currently valid credentials.
pub trait CredentialSource: fmt::Debug + Send + Sync {
    /// Returns the properties of the stores, with currently valid credentials. May block.
    ///
    /// # Errors
    /// Errors of the catalog.
    fn current(&self) -> Result<Vended>;
}

/// A function that reads the credential of a store from properties.
type Read<C> = dyn Fn(&BTreeMap<String, String>) -> Result<C> + Send + Sync;

/// The credential of one store, which is renewed before it expires.
pub(crate) struct Renewed<C> {
    source: Arc<dyn CredentialSource>,
    read: Box<Read<C>>,
    last: Mutex<Option<(Arc<C>, Option<i64>)>>,
}

/// The debug form omits the credential.
impl<C> fmt::Debug for Renewed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewed").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<C> Renewed<C> {
    /// Creates a credential from `source`; `read` extracts it from the properties.
    pub(crate) fn new(
        source: &Arc<dyn CredentialSource>,
        read: impl Fn(&BTreeMap<String, String>) -> Result<C> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { source: source.clone(), read: Box::new(read), last: Mutex::default() })
    }

    fn valid(&self) -> Option<Arc<C>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_valid = |renew_at_ms: &Option<i64>| renew_at_ms.is_none_or(|at| now_ms() < at);
        last.as_ref().filter(|(_, renew_at_ms)| is_valid(renew_at_ms)).map(|(found, _)| found.clone())
    }

    async fn renewed(&self) -> object_store::Result<Arc<C>> {
        let source = self.source.clone();
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic {
            store: "credentials of the catalog",
            source: error,
        };
        let vended = tokio::task::spawn_blocking(move || source.current());
        let vended = vended.await.map_err(|e| failed(Box::new(e)))?.map_err(|e| failed(Box::new(e)))?;
        let found = Arc::new((self.read)(&vended.properties).map_err(|e| failed(Box::new(e)))?);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((found.clone(), vended.renew_at_ms));
        Ok(found)
    }
}

impl<C: fmt::Debug + Send + Sync> CredentialProvider for Renewed<C> {
    type Credential = C;

    fn get_credential<'a, 'b>(&'a self) -> BoxFuture<'b, object_store::Result<Arc<C>>>
    where
        'a: 'b,
        Self: 'b,
    {
        async move {
            match self.valid() {
                Some(found) => Ok(found),
                None => self.renewed().await,
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use frazil_core::error::{Error, ErrorKind};

    use super::*;
    use crate::runtime::block_on;

    /// A source with numbered responses, each of which is valid for a limited time.
    #[derive(Debug)]
    struct Numbered(AtomicI64, i64);

    impl CredentialSource for Numbered {
        fn current(&self) -> Result<Vended> {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            if number > 2 {
                return Err(Error::new(ErrorKind::Unavailable, "no answer"));
            }
            let properties = [("number".to_string(), number.to_string())].into();
            Ok(Vended { properties, renew_at_ms: Some(now_ms() + self.1) })
        }
    }

    fn asked(lifetime_ms: i64) -> Vec<Option<String>> {
        let source: Arc<dyn CredentialSource> = Arc::new(Numbered(AtomicI64::new(1), lifetime_ms));
        let renewed = Renewed::new(&source, |properties| Ok(properties.get("number").cloned().unwrap_or_default()));
        let ask = |_| {
            let renewed = renewed.clone();
            block_on(async move { renewed.get_credential().await.ok().map(|found| found.to_string()) }).unwrap()
        };
        (0..4).map(ask).collect()
    }

    #[test]
    fn credentials_are_asked_for_when_the_last_are_out_of_date() {
        assert_eq!(asked(60_000), vec![Some("1".to_string()); 4]);
        let each = asked(0);
        assert_eq!(each, [Some("1".to_string()), Some("2".to_string()), None, None]);
    }
}
