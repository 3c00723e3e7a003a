//! One stateless request, on a stream of its own.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::sync::{mpsc, watch};

use super::super::connection::Phase;
use crate::mcp;

/// Maximum number of bytes between the server and the stream in each direction.
const BUFFER: usize = 64 << 10;

/// Maximum number of messages that wait for the client.
const MAX_WAITING: usize = 4;

/// Makes the request. Dropping the receiver cancels it. A stream that stays open ends when the server shuts down.
pub(super) fn start(
    server: mcp::Server,
    line: Vec<u8>,
    phase: watch::Receiver<Phase>,
    stays_open: bool,
) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    tokio::spawn(async move {
        let (input, server_input) = duplex(BUFFER);
        let (server_output, output) = duplex(BUFFER);
        let served = async { drop(server.serve(server_input, server_output).await) };
        let closing = async {
            let mut phase = phase;
            let is_over = |phase: &Phase| *phase == Phase::Cancelling || (stays_open && *phase != Phase::Serving);
            // The sender lives as long as the server.
            drop(phase.wait_for(is_over).await);
        };
        let closed = sender.clone();
        tokio::select! {
            () = exchange(input, &line, output, &sender) => {}
            // The answers that were written before the end are still in the stream.
            () = async { served.await; std::future::pending().await } => {}
            () = closed.closed() => {}
            () = closing => {}
        }
        // Dropping the server has cancelled the call.
    });
    receiver
}

/// Writes the request, and sends the messages of the server on, until it ends or the client is gone.
async fn exchange(mut input: DuplexStream, line: &[u8], output: DuplexStream, to: &mpsc::Sender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    let write = async {
        drop(input.write_all(line).await);
        // The input stays open: its end would end the server.
        std::future::pending::<()>().await;
    };
    let read = async {
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line).await {
                Ok(length) if length > 0 => {}
                _ => return,
            }
            if to.send(line).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = write => {}
        () = read => {}
    }
}
