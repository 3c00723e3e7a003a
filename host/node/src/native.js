/** The native program: one package per platform contains it, as an optional dependency of this package. */

import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programProblem } from './program_format.js';

/** The top directory of this package. */
const TOP = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Returns the path of the native program for this system, or the reason why it is not used. There is neither in a clone,
 * whose manifest names no packages of platforms.
 *
 * @returns {{ program?: string, problem?: string }}
 */
export function nativeProgram() {
  const name = `@paddock-files/${process.platform}-${process.arch}`;
  const { version, optionalDependencies } = manifestIn(TOP);
  const directories = directoriesOf(name);
  const directory = directories.find((each) => manifestIn(each)?.version === version);
  if (directory === undefined) return { problem: missing(name, version, directories, optionalDependencies) };
  const program = join(directory, process.platform === 'win32' ? 'paddock.exe' : 'paddock');
  const problem = programProblem(program);
  return problem === undefined ? { program } : { problem: `the native program \`${program}\` ${problem}` };
}

/**
 * Returns the directories in which npm may have installed a package: in this package, beside it, and in the
 * `node_modules` around it. `require.resolve` would also search directories above the installation, `NODE_PATH` and the
 * home directory, into which npm does not install dependencies of this package.
 *
 * @param {string} name
 */
function directoriesOf(name) {
  // Plug'n'Play of Yarn has no `node_modules`, and its resolver searches only the dependencies of this package.
  if (process.versions.pnp) return resolvedByYarn(name);
  const above = ancestors(TOP).filter((directory) => basename(directory) === 'node_modules');
  return [join(TOP, 'node_modules'), ...above].map((directory) => join(directory, name)).filter(isDirectory);
}

/** @param {string} name */
function resolvedByYarn(name) {
  try {
    return [dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))];
  } catch {
    return [];
  }
}

/** Returns the directories above one, the nearest first. @param {string} directory @returns {string[]} */
function ancestors(directory) {
  const above = dirname(directory);
  return above === directory ? [] : [above, ...ancestors(above)];
}

/** @param {string} path */
function isDirectory(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Returns the manifest in a directory, if it is readable. @param {string} directory */
function manifestIn(directory) {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Returns why no package of this version was found.
 *
 * @param {string} name @param {string} version @param {string[]} directories
 * @param {Record<string, string> | undefined} optionalDependencies
 */
function missing(name, version, directories, optionalDependencies) {
  if (directories.length > 0) return `\`${directories[0]}\` has another version than ${version}, the version of paddock-files`;
  if (optionalDependencies === undefined) return undefined;
  if (name in optionalDependencies) return `the package \`${name}\` is not installed`;
  return `there is no native program for ${process.platform}-${process.arch}`;
}
