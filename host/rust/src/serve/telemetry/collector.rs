//! The HTTP client for a collector of OpenTelemetry. It has no TLS: a collector that is not on this machine is reached
//! through one that is.

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderValue, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::net::TcpStream;

/// Maximum size in bytes of an answer, which has a message about rejected spans at most.
const MAX_ANSWER: usize = 64 << 10;

/// A client that makes one connection for each batch.
#[derive(Debug)]
pub(super) struct Client {
    /// Maximum time for a batch.
    pub(super) timeout: Duration,
}

#[async_trait]
impl HttpClient for Client {
    /// Sends a request. This blocks the thread, which is that of the exporter, so that neither it nor the server has to
    /// wait for the other.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { tokio::time::timeout(self.timeout, send(request)).await? })
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.host().ok_or("the URL has no host")?;
    // Brackets belong to the URL.
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((address, parts.uri.port_u16().unwrap_or(80))).await?;
    let authority = parts.uri.authority().ok_or("the URL has no host")?.as_str();
    parts.headers.insert(header::HOST, HeaderValue::from_str(authority)?);
    parts.uri = Uri::from(parts.uri.path_and_query().cloned().ok_or("the URL has no path")?);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut answer = pin!(async move {
        let (parts, body) = sender.send_request(Request::from_parts(parts, Full::new(body))).await?.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body))
    });
    tokio::select! {
        answered = &mut answer => return answered,
        // The answer may have arrived as a whole.
        _ = connection => {}
    }
    answer.await
}
