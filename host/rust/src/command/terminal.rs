//! The terminal of a session.
//!
//! `portable-pty` starts the program itself; here the supervisor starts it, and needs the descriptor of the terminal.

use std::os::fd::OwnedFd;

use rustix::io;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Opens a terminal and returns both ends: the end of this process and the end of the command.
pub(super) fn open((columns, rows): (u16, u16)) -> io::Result<(OwnedFd, OwnedFd)> {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&own)?;
    unlockpt(&own)?;
    // The other end is opened through the descriptor: its name could be another terminal in another mount of `devpts`.
    let theirs = ioctl_tiocgptpeer(&own, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    resize(&own, (columns, rows))?;
    Ok((own, theirs))
}

/// Sets the size of the terminal; the command receives SIGWINCH.
pub(super) fn resize(terminal: &OwnedFd, (columns, rows): (u16, u16)) -> io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}
