/**
 * Makes `component/` of the WebAssembly component: the core modules, the JavaScript that links them, and the types of
 * the WIT; and keeps the component itself in `build/`, for tests. `PADDOCK_COMPONENT` names the component; without it,
 * cargo builds one.
 *
 * jco is held at 1.10: what later ones generate keeps track of tasks for asynchronous components, which this is not,
 * and a small read takes 1.8 times as long.
 */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate } from '@bytecodealliance/jco/component';
import { minify } from 'terser';

const top = fileURLToPath(new URL('..', import.meta.url));
const repository = join(top, '../..');
const target = join(top, 'component');
const whole = join(top, 'build');

/** Returns the component that is embedded in the binary, which the binary writes out. */
async function built() {
  const directory = await mkdtemp(join(tmpdir(), 'paddock-component-'));
  try {
    const file = join(directory, 'paddock.wasm');
    const run = ['run', '--quiet', '--locked', '-p', 'paddock-files', '--', 'component', '-o', file];
    execFileSync('cargo', run, { cwd: repository, stdio: 'inherit' });
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Removes comments and white space from the script that jco generates, which are two fifths of it. Names stay as they are.
 *
 * @param {[string, Uint8Array | string]} file
 * @returns {Promise<[string, Uint8Array | string]>}
 */
async function withoutSpace([name, content]) {
  if (name !== 'paddock.js' || typeof content !== 'string') return [name, content];
  const { code } = await minify(content, { module: true, compress: false, mangle: false, format: { quote_style: 3 } });
  if (code === undefined) throw new Error('the generated script was not read');
  return [name, code];
}

/**
 * The decoder in the script that jco generates drops a byte order mark at the start of a string, so that a name which begins
 * with one would denote another file. This function changes the decoder to keep the mark, and no other generated file.
 *
 * @param {[string, Uint8Array]} file
 * @returns {[string, Uint8Array | string]}
 */
function keepingBom([name, bytes]) {
  if (name !== 'paddock.js') return [name, bytes];
  const [before, after, ...more] = new TextDecoder().decode(bytes).split('new TextDecoder()');
  if (after === undefined || more.length > 0) throw new Error('the generated script has not one decoder of texts');
  return [name, `${before}new TextDecoder('utf-8', { ignoreBOM: true })${after}`];
}

const { PADDOCK_COMPONENT } = process.env;
const component = PADDOCK_COMPONENT ? await readFile(PADDOCK_COMPONENT) : await built();
const { files } = await generate(component, {
  name: 'paddock',
  instantiation: { tag: 'sync' },
  base64Cutoff: 0,
  validLiftingOptimization: true,
  noNodejsCompat: true,
});
await rm(target, { recursive: true, force: true });
const names = files.map(([name]) => name).filter((name) => name.endsWith('.wasm'));
const urls = names.map((name) => `  '${name}': new URL('./${name}', import.meta.url),`).join('\n');
const list = `/** Where the component's core modules are. */\nexport const modules = {\n${urls}\n};\n`;
const types = 'export const modules: Record<string, URL>;\n';
await mkdir(whole, { recursive: true });
await writeFile(join(whole, 'paddock.wasm'), component);
const scripts = await Promise.all(files.map(keepingBom).map(withoutSpace));
for (const [name, bytes] of [...scripts, ['modules.js', list], ['modules.d.ts', types]]) {
  const path = join(target, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}
console.log(`component: ${component.length} bytes, ${names.length} core modules`);
