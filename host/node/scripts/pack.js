/**
 * Writes the tarballs that are published: `node scripts/pack.js OUT [PLATFORM=PROGRAM]...`, after `npm run build`.
 *
 * A platform is named as Node names it, such as `linux-x64`. A package `@paddock-files/PLATFORM` contains its program,
 * and the package `paddock-files` names all of them as optional dependencies; npm installs the one for the system.
 * `PADDOCK_LICENCES` names a file with the licences of what they contain, and `GITHUB_REPOSITORY` the repository, which
 * npm compares with that of the workflow that publishes them.
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = fileURLToPath(new URL('..', import.meta.url));
const license = join(top, '../../LICENSE');
/** @type {any} */
const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));

const licences = process.env.PADDOCK_LICENCES;
const LICENCES = 'THIRD-PARTY-LICENSES.txt';
const home = process.env.GITHUB_REPOSITORY;
const repository = home ? { type: 'git', url: `git+https://github.com/${home}.git` } : undefined;

/** Makes a tarball of a directory that `write` fills. @param {string} out @param {(directory: string) => any} write */
function packed(out, write) {
  const directory = mkdtempSync(join(tmpdir(), 'paddock-pack-'));
  try {
    const published = write(directory);
    if (licences) cpSync(licences, join(directory, LICENCES));
    const files = licences ? [...published.files, LICENCES] : published.files;
    writeFileSync(join(directory, 'package.json'), `${JSON.stringify({ ...published, repository, files }, null, 2)}\n`);
    cpSync(license, join(directory, 'LICENSE'));
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], { cwd: directory, stdio: ['ignore', 'inherit', 'inherit'] });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Fills the package of a platform. @param {string} directory @param {string} platform @param {string} program */
function writePlatform(directory, platform, program) {
  const [os, cpu] = platform.split('-');
  const name = os === 'win32' ? 'paddock.exe' : 'paddock';
  cpSync(program, join(directory, name));
  chmodSync(join(directory, name), 0o755);
  const { version, license } = manifest;
  const description = `The native program of paddock-files for ${platform}`;
  return { name: `@paddock-files/${platform}`, version, description, license, os: [os], cpu: [cpu], files: [name], preferUnplugged: true };
}

/** Fills the package `paddock-files`. @param {string} directory @param {string[]} platforms */
function writeMain(directory, platforms) {
  for (const name of [...manifest.files, 'README.md']) cpSync(join(top, name), join(directory, name), { recursive: true });
  const { scripts, devDependencies, ...published } = manifest;
  const optional = platforms.map((platform) => [`@paddock-files/${platform}`, manifest.version]);
  return { ...published, optionalDependencies: Object.fromEntries(optional) };
}

const [out, ...programs] = process.argv.slice(2);
if (out === undefined) throw new Error('usage: node scripts/pack.js OUT [PLATFORM=PROGRAM]...');
mkdirSync(out, { recursive: true });
const native = programs.map((text) => text.split('='));
for (const [platform, program] of native) packed(resolve(out), (directory) => writePlatform(directory, platform, program));
packed(resolve(out), (directory) => writeMain(directory, native.map(([platform]) => platform)));
