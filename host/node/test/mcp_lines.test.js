/** The transport of the MCP server: messages that are wrong, too long, or batches. */

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { createServer } from '../src/mcp.js';
import { RequestIdReader } from '../src/mcp/request_id.js';
import { LineTransport } from '../src/mcp/transport.js';

/** A workspace whose only tool answers with its arguments, or waits until it is cancelled. */
const workspace = {
  tools: async () => [{ name: 'echo', inputSchema: { type: 'object' } }],
  call: async (_name, args, { signal }) => {
    if (args.wait) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return { ok: true, result: args, text: JSON.stringify(args) };
  },
};

/** A session with a server of these tools: `send` writes a line, `next` returns the next answer. */
async function session(revision) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await createServer(/** @type {any} */ (workspace));
  await server.connect(new LineTransport(input, output, 'divide it'));
  after(() => server.close());
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value);
  const send = (message) => void input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  const here = { input, server, next, send };
  if (revision) await initialize(here, revision);
  return here;
}

async function initialize({ send, next }, revision) {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  send({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params });
  assert.equal((await next()).result.protocolVersion, revision);
  send({ jsonrpc: '2.0', method: 'notifications/initialized' });
}

const echo = (id, args = { a: 1 }) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: args } });
const byId = (answers) => Object.fromEntries(answers.map((answer) => [JSON.stringify(answer.id), answer]));

async function stillAnswers({ send, next }) {
  send(echo('still'));
  assert.deepEqual((await next()).result?.structuredContent, { a: 1 });
}

test('wrong parameters and a wrong method have different codes', async () => {
  const here = await session('2025-11-25');
  for (const [method, params, code, says] of [
    ['tools/call', undefined, -32602, '`name` is missing'],
    ['tools/call', { name: 5 }, -32602, '`name` has to be a string, not a number'],
    ['tools/call', { name: 'echo', arguments: [] }, -32602, '`arguments` has to be an object, not an array'],
    // The schema of the protocol asks for an object; only an argument of a tool may be JSON in a string.
    ['tools/call', { name: 'echo', arguments: '{"a": 1}' }, -32602, '`arguments` has to be an object, not a string'],
    ['tools/call', ['echo'], -32602, '`params`'],
    ['tools/call', 5, -32600, '`params`'],
    ['tools/call', { name: 'none' }, -32602, 'unknown tool'],
    ['tools/cal', { name: 'echo' }, -32601, 'not found'],
  ]) {
    here.send({ jsonrpc: '2.0', id: 7, method, params });
    const { id, error } = await here.next();
    assert.deepEqual([id, error?.code], [7, code], says);
    assert.ok(error.message.includes(says), error.message);
  }
  await stillAnswers(here);
});

test('a wrong initialize can be repeated', async () => {
  const here = await session();
  here.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: 5 } });
  const { error } = await here.next();
  assert.equal(error.code, -32602);
  assert.match(error.message, /`capabilities` has to be an object/);
  await initialize(here, '2025-06-18');
  await stillAnswers(here);
});

test('a line that is no message is answered once', async () => {
  const here = await session('2025-06-18');
  for (const [line, code] of [['no JSON', -32700], ['{"jsonrpc": "2.0", "id": 7', -32700], ['[', -32700], ['5', -32600], ['null', -32600], ['{}', -32600]]) {
    here.send(line);
    const answer = await here.next();
    assert.deepEqual([answer.id, answer.error.code], [null, code], line);
    here.send(answer);
  }
  for (const line of ['', '{"jsonrpc": "2.0", "method": "notifications/other", "params": 5}']) here.send(line);
  await stillAnswers(here);
});

test('a message that is too long is answered by its id, wherever that is', async () => {
  const here = await session('2025-06-18');
  const content = 'x'.repeat(17 << 20);
  for (const [line, id] of [
    [`{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "${content}"}}`, 3],
    [`{"method": "x", "params": {"id": 5, "a": "${content}"}, "jsonrpc": "2.0", "id": "b"}`, 'b'],
    [`{"jsonrpc": "2.0", "id": 4, "result": {"method": "${content}"}}`, null],
  ]) {
    here.send(line);
    const answer = await here.next();
    assert.deepEqual([answer.id, answer.error?.code], [id, -32600]);
    assert.match(answer.error.message, /at most 16777216 bytes; divide it/);
  }
  await stillAnswers(here);
});

test('a batch is answered by an array, in the only revision that has batches', async () => {
  const here = await session('2025-03-26');
  here.send([
    echo(10),
    { jsonrpc: '2.0', id: 11, method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/other' },
    { jsonrpc: '2.0', id: 12, method: 'no/such' },
    { jsonrpc: '2.0', id: 13, method: 'tools/call' },
    { jsonrpc: '2.0', id: 14, method: 'initialize', params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'a', version: '1' } } },
    5,
    [echo(15)],
  ]);
  const answers = await here.next();
  assert.equal(answers.length, 7);
  const { 10: called, 11: ping, ...others } = byId(answers);
  assert.deepEqual([called.result.structuredContent, ping.result], [{ a: 1 }, {}]);
  assert.deepEqual(Object.entries(others).map(([id, { error }]) => [id, error.code]), [['12', -32601], ['13', -32602], ['14', -32600], ['null', -32600]]);
  here.send([{ jsonrpc: '2.0', method: 'notifications/other' }]);
  for (const [batch, says] of [[[], 'has to contain a message'], [Array(257).fill(echo(1)), 'at most 256 messages']]) {
    here.send(batch);
    const { id, error } = await here.next();
    assert.ok(id === null && error.code === -32600 && error.message.includes(says), error.message);
  }
  await stillAnswers(here);
  for (const revision of ['2024-11-05', '2025-06-18', '2025-11-25', undefined]) {
    const other = await session(revision);
    other.send([echo(10)]);
    const { id, error } = await other.next();
    assert.ok(id === null && error.code === -32600 && error.message.includes('2025-03-26'), error.message);
  }
});

test('a cancelled request leaves its batch', async () => {
  const here = await session('2025-03-26');
  here.send([echo(10, { wait: true }), echo(11)]);
  here.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 10 } });
  assert.deepEqual((await here.next()).map(({ id }) => id), [11]);
  await stillAnswers(here);
});

test('requests before the end of the input are answered', async () => {
  const here = await session('2025-06-18');
  const closed = new Promise((resolve) => {
    here.server.onclose = () => resolve(undefined);
  });
  for (let id = 0; id < 100; id += 1) here.send(echo(id));
  here.input.end();
  for (let id = 0; id < 100; id += 1) assert.equal((await here.next()).id, id);
  await closed;
});

test('the id of a request is found in pieces of every size', () => {
  const id = (text, size) => {
    const [reader, bytes] = [new RequestIdReader(), Buffer.from(text)];
    for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size));
    return reader.id;
  };
  for (const [text, expected] of [
    ['{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": [', 7],
    [String.raw` {"method":"x","params":{"id":1,"b":[{"id":2}],"c":"\"}"},"jsonrpc":"2.0","id": 7 }`, 7],
    [String.raw`{"id": "a\"}b", "method": "x", `, 'a"}b'],
    ['{"jsonrpc": "2.0", "id": 7, "result": {"method": 1}}', undefined],
    ['{"method": "x", "id": 7', undefined],
    ['{"method": "x", "id": {"id": 7}, ', undefined],
    ['{"method": "x", "id": null, ', undefined],
    ['[{"method": "x", "id": 7}, ', undefined],
    [`{"method": "x", "id": "${'x'.repeat(256)}", `, undefined],
  ]) {
    for (let size = 1; size <= text.length; size += 1) assert.equal(id(text, size), expected, text);
  }
});
