//! Channel to the host: received messages, and frames that are not sent yet.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use paddock_supervisor::protocol::{FromSupervisor, ToSupervisor};
use paddock_supervisor::wire;

/// Maximum number of bytes of one read.
const CHUNK: usize = 4 << 10;

/// Non-blocking channel to the host. The host may send answers while the supervisor still writes questions, so that
/// neither may wait for the other.
pub(crate) struct HostChannel {
    socket: UnixStream,
    received: Vec<u8>,
    /// Frames that are not completely sent. Of the first one, `sent` bytes are sent.
    unsent: VecDeque<Vec<u8>>,
    sent: usize,
}

impl HostChannel {
    pub(crate) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, received: Vec::new(), unsent: VecDeque::new(), sent: 0 })
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends a message, now or as soon as the socket accepts it.
    pub(crate) fn say(&mut self, message: &FromSupervisor) -> io::Result<()> {
        self.unsent.push_back(wire::frame(message)?);
        self.send()
    }

    /// Sends as many frames as the socket accepts.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        while let Some(rest) = self.unsent.front().and_then(|frame| frame.get(self.sent..)) {
            match self.socket.write(rest) {
                Ok(sent) if sent < rest.len() => self.sent += sent,
                Ok(_) => {
                    self.unsent.pop_front();
                    self.sent = 0;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends the last message and waits until it is sent. Unsent questions are dropped, because no call waits for them
    /// any more.
    pub(crate) fn say_last(mut self, message: &FromSupervisor) -> io::Result<()> {
        self.socket.set_nonblocking(false)?;
        self.unsent.truncate(usize::from(self.sent > 0));
        self.say(message)
    }

    /// Returns the messages received so far; fails if the host is gone.
    pub(crate) fn receive(&mut self) -> io::Result<Vec<ToSupervisor>> {
        let mut chunk = vec![0; CHUNK];
        match self.socket.read(&mut chunk) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(read) => self.received.extend(chunk.iter().take(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let mut messages = Vec::new();
        while let Some(message) = wire::take(&mut self.received)? {
            messages.push(message);
        }
        Ok(messages)
    }
}

impl AsFd for HostChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
