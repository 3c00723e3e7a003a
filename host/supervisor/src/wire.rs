//! Frames over a stream socket: the length in bytes as a 4-byte little-endian integer, then that many bytes of JSON.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum length of a received frame, in bytes.
pub const LONGEST: usize = 256 << 20;
/// Maximum number of descriptors with one frame. The kernel allows 253.
pub const MAX_DESCRIPTORS: usize = 128;

/// Encodes a message as a frame.
///
/// # Errors
///
/// If the message cannot be serialised as JSON, or the JSON is 4 GiB or longer.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len().saturating_sub(4)).map_err(io::Error::other)?;
    for (to, from) in frame.iter_mut().zip(length.to_le_bytes()) {
        *to = from;
    }
    Ok(frame)
}

/// Decodes the first message in `received` and removes its frame; returns `None` if the frame is incomplete.
///
/// # Errors
///
/// `InvalidData` for a frame longer than [`LONGEST`] or for JSON that is not a message of type `T`; `UnexpectedEof` for
/// JSON that ends early.
pub fn take<T: DeserializeOwned>(received: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some(length) = received.first_chunk::<4>() else { return Ok(None) };
    let length = frame_length(*length)?;
    let Some(json) = received.get(4..4 + length) else { return Ok(None) };
    let message = serde_json::from_slice(json)?;
    received.drain(..4 + length);
    Ok(Some(message))
}

/// Sends a message, with descriptors attached to its first byte.
///
/// # Errors
///
/// Errors of the socket; `InvalidInput` for more than [`MAX_DESCRIPTORS`] descriptors.
pub fn send(mut socket: &UnixStream, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let frame = frame(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut host = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !host.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&frame)], &mut host, SendFlags::NOSIGNAL)?;
    socket.write_all(frame.get(sent..).unwrap_or_default())
}

/// Waits for a message and returns it with the descriptors attached to it.
///
/// # Errors
///
/// `UnexpectedEof` if the peer has closed the socket or the JSON ends early, `InvalidData` for a frame longer than
/// [`LONGEST`] or for JSON that is not a message of type `T`, otherwise errors of the socket.
pub fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let (read, descriptors) = receive_some(socket.as_fd(), &mut length)?;
    if read == 0 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    socket.read_exact(length.get_mut(read..).unwrap_or_default())?;
    let mut json = vec![0; frame_length(length)?];
    socket.read_exact(&mut json)?;
    Ok((serde_json::from_slice(&json)?, descriptors))
}

/// Reads once, and returns the number of bytes read and the descriptors attached to them.
///
/// # Errors
///
/// Errors of the socket.
pub fn receive_some(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut host = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut host, RecvFlags::CMSG_CLOEXEC)
    })?;
    let descriptors = host
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    Ok((received.bytes, descriptors))
}

fn frame_length(length: [u8; 4]) -> io::Result<usize> {
    match usize::try_from(u32::from_le_bytes(length)) {
        Ok(length) if length <= LONGEST => Ok(length),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}
