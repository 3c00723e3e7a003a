/**
 * Error codes of the system as those of `wasi:filesystem`.
 *
 * @typedef {import('../../component/interfaces/wasi-filesystem-types.js').ErrorCode} ErrorCode
 */

/** @type {Record<string, ErrorCode>} */
const CODES = {
  EACCES: 'access',
  EAGAIN: 'would-block',
  EALREADY: 'already',
  EBADF: 'bad-descriptor',
  EBUSY: 'busy',
  EDEADLK: 'deadlock',
  EDQUOT: 'quota',
  EEXIST: 'exist',
  EFBIG: 'file-too-large',
  EILSEQ: 'illegal-byte-sequence',
  EINPROGRESS: 'in-progress',
  EINTR: 'interrupted',
  EINVAL: 'invalid',
  EISDIR: 'is-directory',
  ELOOP: 'loop',
  EMLINK: 'too-many-links',
  EMSGSIZE: 'message-size',
  ENAMETOOLONG: 'name-too-long',
  ENODEV: 'no-device',
  ENOENT: 'no-entry',
  ENOLCK: 'no-lock',
  ENOMEM: 'insufficient-memory',
  ENOSPC: 'insufficient-space',
  ENOTDIR: 'not-directory',
  ENOTEMPTY: 'not-empty',
  ENOTRECOVERABLE: 'not-recoverable',
  ENOTSUP: 'unsupported',
  ENOTTY: 'no-tty',
  ENXIO: 'no-such-device',
  EOPNOTSUPP: 'unsupported',
  EOVERFLOW: 'overflow',
  EPERM: 'not-permitted',
  EPIPE: 'pipe',
  EROFS: 'read-only',
  ESPIPE: 'invalid-seek',
  ETXTBSY: 'text-file-busy',
  EXDEV: 'cross-device',
  ERR_INVALID_ARG_VALUE: 'invalid',
  ERR_OUT_OF_RANGE: 'overflow',
};

/**
 * Returns the code of a failed system call for the guest; a provider throws the code itself. A defect of the provider is
 * not converted, and ends the instance.
 *
 * @param {any} error
 * @returns {ErrorCode}
 */
export function codeOf(error) {
  if (typeof error === 'string') return /** @type {ErrorCode} */ (error);
  if (typeof error?.code !== 'string') throw error;
  return CODES[error.code] ?? 'io';
}
