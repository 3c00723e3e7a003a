/** `npx paddock-files` as a process: the MCP server with the official client, and the other commands. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { fixture } from './support.js';

const CLI = fileURLToPath(new URL('../src/cli.js', import.meta.url));

async function connect(here, args = [], capabilities = {}, name = 'paddock-test') {
  const client = new Client({ name, version: '1.0.0' }, { capabilities });
  const env = { ...process.env, PADDOCK_STATE_DIR: here.state };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, 'mcp', here.root, ...args], env }));
  after(() => client.close());
  return client;
}

test('a session', async () => {
  const here = fixture({ 'a.txt': 'one\ntwo\n' });
  const client = await connect(here);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'apply_patch'));
  // The client validates each structured result against its schema.
  const read = await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
  assert.equal(read.content[0].text, '1|one\n2|two\n[etag c3f9c8c283a2]');
  assert.equal(read.structuredContent.total_lines, 2);
  const grep = await client.callTool({ name: 'grep', arguments: { pattern: '^t' } });
  assert.deepEqual(grep.structuredContent.matches.map(({ path, line }) => [path, line]), [['a.txt', 2]]);
  await client.callTool({ name: 'edit_file', arguments: { path: 'a.txt', edits: [{ old_text: 'two', new_text: '2' }] } });
  assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'one\n2\n');
  const outside = await client.callTool({ name: 'read_file', arguments: { path: '../../etc/passwd' } });
  assert.ok(outside.isError && outside.content[0].text.includes('leads out of the root'));
  await assert.rejects(client.callTool({ name: 'read_fil', arguments: {} }), /unknown tool/);
});

test('answers can have text alone', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const client = await connect(here, ['--text-only']);
  const { tools } = await client.listTools();
  assert.ok(tools.every(({ inputSchema, outputSchema }) => inputSchema && outputSchema === undefined));
  const read = await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
  assert.deepEqual([read.content[0].text.split('\n')[0], read.structuredContent], ['1|one', undefined]);
  const missing = await client.callTool({ name: 'read_file', arguments: { path: 'b.txt' } });
  assert.ok(missing.isError);
});

test('clients that give the model the JSON get the text alone', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  for (const [flags, name, isStructured] of /** @type {const} */ ([
    [[], 'claude-code', false],
    [[], 'codex-mcp-client (via mcp-remote 0.1.18)', false],
    [['--structured'], 'opencode', true],
  ])) {
    const client = await connect(here, flags, {}, name);
    const { tools } = await client.listTools();
    assert.ok(tools.every(({ outputSchema }) => (outputSchema !== undefined) === isStructured));
    const read = await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
    assert.deepEqual([read.content[0].text.split('\n')[0], read.structuredContent !== undefined], ['1|one', isStructured]);
  }
});

test('another dialect, read-only', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const client = await connect(here, ['--dialect', 'mcp-filesystem', '--read-only']);
  const read = await client.callTool({ name: 'read_text_file', arguments: { path: 'a.txt' } });
  assert.equal(read.content[0].text, 'one\n');
  const written = await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content: 'x' } });
  assert.ok(written.isError);
});

test('a person at the client is asked', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  writeFileSync(`${here.top}/policy.json`, '{"approval": "on-delete"}');
  const client = await connect(here, ['--policy', `${here.top}/policy.json`], { elicitation: {} });
  const answers = [{ action: 'accept', content: { approve: false } }, { action: 'accept', content: { approve: true } }];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    assert.match(params.message, /a\.txt/);
    return answers.shift();
  });
  assert.ok((await client.callTool({ name: 'delete', arguments: { path: 'a.txt' } })).isError);
  const deleted = await client.callTool({ name: 'delete', arguments: { path: 'a.txt' } });
  assert.ok(!deleted.isError, JSON.stringify(deleted));
});

const run = (here, ...args) => promisify(execFile)(process.execPath, [CLI, ...args], { env: { ...process.env, PADDOCK_STATE_DIR: here.state } }).catch((error) => error);

test('a plan reaches the person without control characters, and with the number of lines that are not shown', async () => {
  const here = fixture({});
  writeFileSync(`${here.top}/policy.json`, '{"approval": "on-change"}');
  const client = await connect(here, ['--policy', `${here.top}/policy.json`], { elicitation: {} });
  const messages = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    messages.push(params.message);
    return { action: 'decline' };
  });
  const content = `\u{1b}[2J\r\n${'y'.repeat(501)}\n${'x\n'.repeat(300)}`;
  assert.ok((await client.callTool({ name: 'write_file', arguments: { path: 'a.txt', content } })).isError);
  assert.ok(messages[0].includes('  | +\\u{1b}[2J\\r\n'), messages[0]);
  assert.ok(messages[0].includes(`y\n  : yy\n`), messages[0]);
  assert.match(messages[0], /\n {2}… 107 more lines are not shown\n$/);
});

test('the other commands and their exit statuses', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const called = await run(here, 'call', '--root', here.root, 'read_file', '{"path": "a.txt"}');
  assert.equal(JSON.parse(called.stdout).result.content, 'one');
  assert.deepEqual(JSON.parse((await run(here, 'tools', '--format', 'openai')).stdout)[0].type, 'function');
  for (const [code, message, ...args] of [
    [1, /not-found/, 'call', '--root', here.root, 'read_file', '{"path": "none"}'],
    [2, /no command `red`/, 'red'],
    [2, /needs a tool/, 'call'],
    [2, /no argument `more`/, 'batch', 'more'],
    [2, /either as arguments or by `--root`/, 'mcp', here.root, '--root', here.root],
    [2, /--red/, 'mcp', here.root, '--red'],
    [2, /an option of `mcp`/, 'call', '--text-only', 'tree'],
    [2, /an option of `mcp`/, 'tools', '--text-only'],
    [2, /can only have further directories that are read-only/, 'call', '--root', `${here.root}:ro`, '--root', here.top, 'tree'],
    [1, /read-only/, 'call', '--root', `${here.root}:ro`, 'write_file', '{"path": "b", "content": ""}'],
    [3, /cannot open the root/, 'mcp', `${here.root}/none`],
  ]) {
    const failed = await run(here, ...args);
    assert.equal(failed.code, code, `${args}: ${failed.stderr}`);
    assert.match(failed.stdout + failed.stderr, message);
  }
});

const batch = (here, lines) => {
  const batchProcess = promisify(execFile)(process.execPath, [CLI, 'batch', '--root', here.root], { env: { ...process.env, PADDOCK_STATE_DIR: here.state } });
  batchProcess.child.stdin.end(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return batchProcess.catch((error) => error).then(({ stdout }) => stdout.trimEnd().split('\n').map((line) => JSON.parse(line)));
};

test('errors have the same members in every dialect', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const missing = [
    ['paddock', 'read_file', { path: 'b' }],
    ['dispatch', 'read_file', { path: 'b' }],
    ['dotnet-prompt', 'read_file', { path: 'b' }],
    ['chorus', 'file.read', { path: 'b' }],
    ['weakincentives', 'read_file', { file_path: 'b' }],
    ['lincona', 'read_file', { path: 'b' }],
    ['mcp-filesystem', 'read_text_file', { path: 'b' }],
    ['anthropic', 'str_replace_based_edit_tool', { command: 'view', path: 'b' }],
    ['codex', 'read_file', { file_path: 'b' }],
    ['openai', 'apply_patch', { operation: { type: 'delete_file', path: 'b' } }],
  ];
  const calls = missing.flatMap(([dialect, tool, args]) => [
    ['not-found', { dialect, tool, arguments: args }],
    ['invalid-argument', { dialect, tool, arguments: { no_such_argument: [1] } }],
    ['unknown-tool', { dialect, tool: 'no_such_tool' }],
  ]);
  calls.push(['invalid-argument', 'not json'], ['invalid-argument', { tool: 'stat', argument: {} }]);
  const outcomes = await batch(here, calls.map(([, line]) => line));
  assert.equal(outcomes.length, calls.length);
  for (const [index, [code, line]] of calls.entries()) {
    const { ok, error, text, result } = outcomes[index];
    assert.deepEqual([ok, error.code, Object.keys(error)], [false, code, ['code', 'message', 'path', 'hint']], JSON.stringify(line));
    assert.ok(text && result, JSON.stringify(line));
    assert.deepEqual(Object.keys(outcomes[index]), ['ok', 'error', 'result', 'text'], JSON.stringify(line));
  }
});

test('dialects combine', async () => {
  const here = fixture({ 'a.txt': 'one\n' });
  const dialect = 'anthropic,paddock:grep,glob';
  const client = await connect(here, ['--dialect', dialect]);
  const names = (await client.listTools()).tools.map(({ name }) => name);
  assert.deepEqual(names, ['str_replace_based_edit_tool', 'memory', 'grep', 'glob']);
  assert.equal((await client.callTool({ name: 'grep', arguments: { pattern: 'one' } })).structuredContent.matches.length, 1);
  const grep = JSON.parse((await run(here, 'call', '--root', here.root, 'grep', '{"pattern": "one"}', '--dialect', dialect)).stdout);
  assert.equal(grep.result.matches.length, 1);
  const refused = await run(here, 'tools', '--dialect', 'codex,paddock');
  assert.deepEqual([refused.code, JSON.parse(refused.stdout).error.code], [1, 'invalid-argument']);
});

test('a policy file in the workspace is not ignored silently', async () => {
  const here = fixture({ '.paddock.yaml': 'read_only: true\n' });
  const failed = await run(here, 'call', '--root', here.root, 'stat', '{"path": "."}');
  assert.equal(failed.code, 2);
  assert.match(failed.stderr, /narrows what tools may do/);
  assert.equal((await run(here, 'call', '--root', here.root, 'stat', '{"path": "."}', '--ignore-project-policy')).code, undefined);
});
