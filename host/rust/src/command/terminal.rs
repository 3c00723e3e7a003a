//! The terminal of a session.

use std::os::fd::OwnedFd;

use rustix::io;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a terminal: the one that is written to and read here, and the one that a command has.
pub(super) fn open((columns, rows): (u16, u16)) -> io::Result<(OwnedFd, OwnedFd)> {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&own)?;
    unlockpt(&own)?;
    // By the descriptor itself: its name could be another's in another mount of the terminals.
    let theirs = ioctl_tiocgptpeer(&own, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    resize(&own, (columns, rows))?;
    Ok((own, theirs))
}

/// Tells the terminal its size; the command gets SIGWINCH.
pub(super) fn resize(terminal: &OwnedFd, (columns, rows): (u16, u16)) -> io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}
