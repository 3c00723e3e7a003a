/** Flags of `open`. */

import { constants } from 'node:fs';

const { O_DIRECTORY = 0, O_NOCTTY = 0, O_NOFOLLOW: NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/** Fails where the name is a symbolic link. */
export const O_NOFOLLOW = NOFOLLOW;

/** Neither a FIFO nor a terminal holds it up. */
export const O_NOWAIT = O_NONBLOCK | O_NOCTTY;

/** For any open of a name. */
export const NEVER_WAIT = O_NOFOLLOW | O_NOWAIT;

/** For a directory that is to be read. */
export const DIRECTORY = O_RDONLY | O_DIRECTORY | NEVER_WAIT;

/** Linux's `O_PATH`, which Node does not name: a descriptor that tells what a name is, and reads and writes nothing. */
export const O_PATH = 0o10000000;
