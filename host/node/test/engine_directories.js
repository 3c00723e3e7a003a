/**
 * Opens the directories of `PADDOCK_TEST_DIRECTORIES`, a JSON object from guest paths to paths, in the shim of jco, and no
 * others. `.ci/engines` passes this module to `jco serve` and `jco run`.
 */

import { _setPreopens } from '@bytecodealliance/preview2-shim/filesystem';

_setPreopens(JSON.parse(process.env.PADDOCK_TEST_DIRECTORIES ?? '{}'));
