/** Flags of `open`. */

import { constants } from 'node:fs';

const { O_DIRECTORY = 0, O_NOCTTY = 0, O_NOFOLLOW: NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/** Makes the open fail if the name is a symbolic link. */
export const O_NOFOLLOW = NOFOLLOW;

/** Prevents that the open of a FIFO or terminal blocks. */
export const O_NOWAIT = O_NONBLOCK | O_NOCTTY;

/** Flags of every open of a name. */
export const NEVER_WAIT = O_NOFOLLOW | O_NOWAIT;

/** Flags of a directory that is opened for reading. */
export const DIRECTORY = O_RDONLY | O_DIRECTORY | NEVER_WAIT;

/** Linux's `O_PATH`, which Node does not export: the descriptor identifies an entry, and cannot read or write it. */
export const O_PATH = 0o10000000;
