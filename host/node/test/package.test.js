/** The content of the package, the imports of the component, and the examples of the README and the guide. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadModules, needsModes } from '../src/disk/modules.js';
import { imports } from '../src/wasi/imports.js';
import { OutputStream } from '../src/wasi/io.js';
import { noFiles } from '../src/wasi/no_files.js';
import { fixture } from './support.js';

const top = fileURLToPath(new URL('..', import.meta.url));

test('the package is small and complete', () => {
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: top, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  assert.ok(packed.size <= 1_550_000, `${packed.size} bytes packed`);
  const names = packed.files.map(({ path }) => path);
  for (const name of ['component/paddock.core.wasm', 'component/paddock.js', 'types/index.d.ts', 'src/index.js', 'src/cli.js']) {
    assert.ok(names.includes(name), `without ${name}`);
  }
  assert.ok(!names.some((name) => name.startsWith('test/') || name.startsWith('demo/')), names.join());
});

test('the host provides exactly the imports of the component', () => {
  const declared = readFileSync(join(top, 'component/paddock.js'), 'utf8').matchAll(/imports\['(wasi:[^']*)'\]/g);
  const provided = Object.keys(imports([], noFiles, new OutputStream())).sort();
  const wanted = [...new Set(Array.from(declared, ([, name]) => name))].sort();
  assert.deepEqual(wanted.filter((name) => !provided.includes(name)), []);
  assert.ok(provided.every((name) => /^wasi:(cli|clocks|filesystem|io|random)\//.test(name)), provided.join());
});

test('the policy says that modes are kept only if the component knows this setting', async () => {
  const bytes = (text) => [text.length, ...Buffer.from(text)];
  const moduleThatImports = (name) => {
    const imported = [1, ...bytes('wasi:filesystem/types@0.2.12'), ...bytes(name), 0, 0];
    return new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 2, imported.length, ...imported]));
  };
  const componentNeedsModes = (...names) => needsModes(new Map(names.map((name) => [name, moduleThatImports(name)])));
  assert.equal(componentNeedsModes('[method]descriptor.stat-at', '[method]descriptor.metadata-hash-at'), true);
  assert.equal(componentNeedsModes('[method]descriptor.stat-at', '[method]descriptor.metadata-hash'), false);
  const generated = readFileSync(join(top, 'component/paddock.js'), 'utf8');
  assert.equal(needsModes(await loadModules(256 * 1024 * 1024)), generated.includes('metadataHashAt'));
});

test('without the component, the error says how to get it', async () => {
  const bare = join(top, 'build/bare');
  rmSync(bare, { recursive: true, force: true });
  cpSync(join(top, 'src'), join(bare, 'src'), { recursive: true });
  const { Workspace, tools } = await import(new URL('../build/bare/src/index.js', import.meta.url).href);
  const failure = { name: 'PaddockError', code: 'io', message: /cannot load the component.*npm run build/s };
  for (const options of [{}, { thread: false }]) {
    await assert.rejects(Workspace.open(fixture().root, options), failure);
    await assert.rejects(Workspace.memory(options), failure);
  }
  await assert.rejects(tools(), failure);
  // Only its core modules are missing.
  cpSync(join(top, 'component'), join(bare, 'component'), { recursive: true, filter: (path) => !path.endsWith('.wasm') });
  const output = spawnSync(process.execPath, [join(bare, 'src/cli.js'), 'tools'], { encoding: 'utf8' });
  assert.match(output.stderr, /cannot load the component.*paddock\.core.*npm run build/s);
  assert.notEqual(output.status, 0);
});

for (const page of ['README.md', '../guide/src/node.md']) {
  test(`the program in ${page} works as written`, () => {
    const here = fixture({ 'README.md': 'The colour is TODO.\n' });
    const blocks = readFileSync(join(top, page), 'utf8').split('```js\n').slice(1).map((block) => block.split('```')[0]);
    const program = blocks.find((block) => block.includes('Workspace.open'));
    const library = new URL('../src/index.js', import.meta.url).href;
    const ended = 'console.log(text, content);';
    writeFileSync(join(here.top, 'program.mjs'), `${program.replace("'paddock-files'", `'${library}'`).replace('/path/to/project', here.root)}${ended}`);
    const env = { ...process.env, PADDOCK_STATE_DIR: here.state };
    const output = execFileSync(process.execPath, [join(here.top, 'program.mjs')], { encoding: 'utf8', env });
    assert.match(output, /README\.md.*TODO.*The colour is TODO\./s);
  });
}
