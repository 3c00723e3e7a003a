//! Output of a program: its standard streams, and streams into files of limited size.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::command::capture::Capture;

/// Maximum number of bytes of one write.
const AT_ONCE: usize = 64 * 1024;

/// Standard output or standard error in bounded memory. Clones share the stream.
#[derive(Clone)]
pub(super) struct Output(Arc<Mutex<Capture>>);

impl Output {
    /// Creates a stream that holds at most twice `max_bytes` bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Capture::new(max_bytes))))
    }

    pub(super) fn capture(&self) -> MutexGuard<'_, Capture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.capture().push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(AT_ONCE)
    }
}

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.capture().push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A stream into a file of limited size.
pub(super) struct Bounded {
    pub(super) stream: DynOutputStream,
    pub(super) file: Arc<File>,
    /// Position of the next write; `None` for the end of the file.
    pub(super) position: Option<u64>,
    /// Maximum size of the file, in bytes.
    pub(super) max: u64,
}

impl Bounded {
    fn advance(&mut self, bytes: &Bytes) -> StreamResult<()> {
        let failed = |cause: io::Error| StreamError::LastOperationFailed(cause.into());
        let at = match self.position {
            Some(at) => at,
            None => self.file.metadata().map_err(failed)?.len(),
        };
        let end = at.checked_add(bytes.len() as u64).filter(|end| *end <= self.max);
        let end = end.ok_or_else(|| failed(too_large()))?;
        self.position = self.position.map(|_| end);
        Ok(())
    }
}

/// Returns the error of the system for a file that would be too large.
fn too_large() -> io::Error {
    #[cfg(unix)]
    let cause = rustix::io::Errno::FBIG.into();
    #[cfg(not(unix))]
    let cause = io::ErrorKind::FileTooLarge.into();
    cause
}

#[async_trait]
impl OutputStream for Bounded {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.advance(&bytes)?;
        self.stream.write(bytes)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.advance(&bytes)?;
        self.stream.blocking_write_and_flush(bytes).await
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.stream.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.stream.check_write()
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

#[async_trait]
impl Pollable for Bounded {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}
