//! Connects to stores, and gives up on failing connections after a few seconds rather than minutes.
//!
//! `object_store` retries a request up to ten times within three minutes, which is suitable for a busy store. If a
//! connection cannot be established at all, the endpoint is usually wrong.

use std::fmt;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

/// The time for which an immediately refused connection is retried, for example while a server restarts.
const LEAST: Duration = Duration::from_secs(3);

/// The first wait between attempts, which doubles each time.
const WAIT: Duration = Duration::from_millis(100);

/// A wrapper of another connector that gives up on connections early.
#[derive(Debug)]
pub(crate) struct EarlyFailure<C>(pub(crate) C);

impl<C: HttpConnector> HttpConnector for EarlyFailure<C> {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        self.0.connect(options).map(|client| HttpClient::new(Service(client)))
    }
}

/// The error that a connection to an endpoint failed, so that no request was sent. Contains neither credentials nor a
/// path.
#[derive(Debug)]
pub(crate) struct NoConnection(String);

impl NoConnection {
    fn of(request: &HttpRequest) -> Self {
        let uri = request.uri();
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        Self(format!("{}://{}{port}", uri.scheme_str().unwrap_or("http"), uri.host().unwrap_or("the store")))
    }
}

impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}", self.0)
    }
}

impl std::error::Error for NoConnection {}

#[derive(Debug)]
struct Service(HttpClient);

impl Service {
    /// Sends a request. A failed connection is retried for twice the time of the first attempt, but for at least three
    /// seconds.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let began = Instant::now();
        let (mut limit, mut wait) = (None, WAIT);
        loop {
            match self.0.execute(request.clone()).await {
                Err(error) if is_connect(&error) => {}
                other => return other,
            }
            let elapsed = began.elapsed();
            if elapsed >= *limit.get_or_insert_with(|| LEAST.max(elapsed.saturating_mul(2))) {
                // `object_store` does not retry errors of this kind.
                return Err(HttpError::new(HttpErrorKind::Unknown, NoConnection::of(&request)));
            }
            tokio::time::sleep(wait).await;
            wait = wait.saturating_mul(2);
        }
    }
}

impl HttpService for Service {
    fn call<'service, 'call>(&'service self, request: HttpRequest) -> BoxFuture<'call, Result<HttpResponse, HttpError>>
    where
        'service: 'call,
        Self: 'call,
    {
        Box::pin(self.send(request))
    }
}

/// Returns whether the connection could not be established. `object_store` reports a slow connection attempt as a
/// timeout.
fn is_connect(error: &HttpError) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<reqwest::Error>());
    error.kind() == HttpErrorKind::Connect || source.is_some_and(reqwest::Error::is_connect)
}
