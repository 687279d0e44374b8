//! Credentials that expire: a catalog gives them for the files of a table, and gives others before they expire.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use frazil_core::clock::now_ms;
use frazil_core::error::Result;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::CredentialProvider;

/// Storage properties with credentials, and when to ask for others.
#[derive(Clone)]
pub struct Vended {
    /// The properties.
    pub properties: BTreeMap<String, String>,
    /// When others are asked for, milliseconds since the epoch; None for never.
    pub renew_at_ms: Option<i64>,
}

/// Shows no properties.
impl fmt::Debug for Vended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vended").field("renew_at_ms", &self.renew_at_ms).finish_non_exhaustive()
    }
}

/// Gives credentials that are valid now.
pub trait CredentialSource: fmt::Debug + Send + Sync {
    /// Returns the properties of the stores, with credentials. May block.
    ///
    /// # Errors
    /// Those of the catalog.
    fn current(&self) -> Result<Vended>;
}

/// Takes the credential of a store out of properties.
type Read<C> = dyn Fn(&BTreeMap<String, String>) -> Result<C> + Send + Sync;

/// The credential of one store, renewed in time.
pub(crate) struct Renewed<C> {
    source: Arc<dyn CredentialSource>,
    read: Box<Read<C>>,
    last: Mutex<Option<(Arc<C>, Option<i64>)>>,
}

/// Shows no credential.
impl<C> fmt::Debug for Renewed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewed").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<C> Renewed<C> {
    /// Asks `source`; `read` takes the credential out of its properties.
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
