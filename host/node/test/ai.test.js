/** The tools with the real package `ai`, and a model that returns fixed answers. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { aiTools } from '../src/ai.js';
import { fixture, open } from './support.js';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** Returns a model that makes one call per step, and then answers with a text. */
function model(calls) {
  const steps = calls.map(([toolName, args], index) => ({
    content: [{ type: 'tool-call', toolCallId: `${index}`, toolName, input: JSON.stringify(args) }],
    finishReason: { unified: 'tool-calls' },
    usage,
    warnings: [],
  }));
  steps.push({ content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] });
  return new MockLanguageModelV3({ doGenerate: async () => steps.shift() });
}

test('a model reads, fails and edits', async () => {
  const here = fixture({ 'a.txt': 'one\ntwo\n' });
  const workspace = await open(here);
  const calls = [
    ['read_file', { path: 'a.txt' }],
    ['read_file', { path: '../a.txt' }],
    ['edit_file', { path: 'a.txt', edits: [{ old_text: 'two', new_text: 'zwei' }] }],
  ];
  const answering = model(calls);
  const { text } = await generateText({ model: answering, tools: await aiTools(workspace), prompt: 'edit', stopWhen: stepCountIs(9) });
  assert.equal(text, 'done');
  assert.equal(readFileSync(here.at('a.txt'), 'utf8'), 'one\nzwei\n');
  const outputs = answering.doGenerateCalls.at(-1).prompt.filter(({ role }) => role === 'tool').map(({ content }) => content[0].output);
  assert.deepEqual(outputs.map(({ type }) => type), ['text', 'error-text', 'text']);
  assert.equal(outputs[0].value, '1|one\n2|two\n[etag c3f9c8c283a2]');
  const [first] = answering.doGenerateCalls[0].tools;
  assert.equal(first.inputSchema.type, 'object');
});

test('a selection of tools, of another dialect', async () => {
  const workspace = await open(fixture({ 'a.txt': 'one\n' }));
  const tools = await aiTools(workspace, { dialect: 'chorus', only: (name) => name.startsWith('file.') });
  assert.ok(Object.keys(tools).length > 0 && Object.keys(tools).every((name) => name.startsWith('file_')));
});
