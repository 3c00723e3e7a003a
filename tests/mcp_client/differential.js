// Calls, listed and generated (889 at the last count, and never fewer than 200), to the reference file system server and to
// `paddock mcp --dialect mcp-filesystem`, over workspaces of the same content. Answers and trees must be equal, or differ
// as a row of `differences.js` states. Every row must occur, and the rows must be those of the table in the guide.
// Usage: node differential.js [path of the paddock binary] [--seed N] [--calls N] [--verbose]

import { readFileSync, realpathSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DIFFERENCES } from "./differences.js";
import { generated } from "./generated_calls.js";
import { LISTED } from "./listed_calls.js";
import { Random } from "./random.js";
import { connectOurs, connectTheirs } from "./servers.js";
import { difference, fill, fillLarge, same, snapshot } from "./trees.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, calls: { type: "string", default: "400" }, verbose: { type: "boolean" } },
});
const seed = Number(values.seed ?? 21);
const random = new Random(seed);
const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-differential-")));

/**
 * Creates the directories of one server: a tree that calls change, and large files that calls only read. Both servers
 * get the same content.
 */
function workspace(side, seed) {
  const at = { top: join(home, side, "ws"), large: join(home, side, "large"), link: join(home, side, "link") };
  fill(at, new Random(seed));
  fillLarge(at.large);
  return at;
}

const PATHS = { w: "top", large: "large", link: "link" };

/** Replaces `{w}`, `{large}` and `{link}` by the paths of the workspace; `withoutPaths` does the reverse. */
function withPaths(value, at) {
  const put = (text, [name, key]) => text.replaceAll(`{${name}}`, JSON.stringify(at[key]).slice(1, -1));
  return JSON.parse(Object.entries(PATHS).reduce(put, JSON.stringify(value)));
}

function withoutPaths(value, at) {
  const take = (text, [name, key]) => text.replaceAll(JSON.stringify(at[key]).slice(1, -1), `{${name}}`);
  return JSON.parse(Object.entries(PATHS).reduce(take, JSON.stringify(value)));
}

async function call(client, at, { tool, args }) {
  let result;
  try {
    result = await client.callTool({ name: tool, arguments: withPaths(args, at) });
  } catch (cause) {
    // The protocol layer refused the call before the tool ran.
    result = { isError: true, content: [{ type: "text", text: cause.message }] };
  }
  const plain = withoutPaths({ content: result.content, structured: result.structuredContent ?? null, isError: result.isError ?? false }, at);
  return { ...plain, text: plain.content.map((block) => block.text ?? "").join("") };
}

/** Returns the row that explains the difference of two answers and trees; `undefined` if none does. */
function explain(call, theirs, ours) {
  return DIFFERENCES.find((row) => row.holds(call, theirs, ours));
}

const at = { theirs: workspace("theirs", seed), ours: workspace("ours", seed) };
const theirs = await connectTheirs([at.theirs.link, at.theirs.large]);
const ours = await connectOurs(positionals[0] ?? "paddock", [at.ours.link, at.ours.large], join(home, "state"));
const occurred = new Map(DIFFERENCES.map(({ id }) => [id, 0]));
let [equal, failed, number] = [0, 0, 0];

function fail(title, details) {
  failed += 1;
  process.exitCode = 1;
  console.log(`fail ${title}\n${details}`);
}

/** Makes one call with both servers, and brings both trees to the same state if they differ for a stated reason. */
async function compare(step) {
  number += 1;
  const before = snapshot(at.ours.top);
  const answers = { theirs: await call(theirs, at.theirs, step), ours: await call(ours, at.ours, step) };
  const trees = { theirs: snapshot(at.theirs.top), ours: snapshot(at.ours.top) };
  const title = `${number} ${step.tool} ${JSON.stringify(step.args)}`.slice(0, 300);
  const areEqual = same(answers.theirs, answers.ours) && difference(trees.theirs, trees.ours).length === 0;
  if (areEqual) {
    equal += 1;
    return;
  }
  const row = explain({ ...step, before }, { ...answers.theirs, tree: trees.theirs }, { ...answers.ours, tree: trees.ours });
  if (row) {
    occurred.set(row.id, occurred.get(row.id) + 1);
    if (values.verbose) console.log(`${row.id}: ${title}`);
  } else {
    const render = ({ isError, text }) => `${isError ? "error: " : ""}${text.slice(0, 800)}`;
    fail(title, `--- reference\n${render(answers.theirs)}\n--- paddock\n${render(answers.ours)}\n--- trees\n${difference(trees.theirs, trees.ours).join("\n")}`);
  }
  trees.theirs.copyTo(at.ours.top, trees.ours);
}

for (const step of LISTED) await compare(step);
for (let callNumber = 0; callNumber < Number(values.calls); callNumber += 1) await compare(generated(random, at.ours.top));
await theirs.close();
await ours.close();
rmSync(home, { recursive: true, force: true });

const guide = readFileSync(fileURLToPath(import.meta.resolve("../../host/guide/src/dialects.md")), "utf8");
for (const { id, reference, paddock, why } of DIFFERENCES) {
  const row = `| ${reference} | ${paddock} | ${why} |`;
  if (!guide.includes(row)) fail(`the guide has no row for ${id}`, row);
  if (occurred.get(id) === 0) fail(`no call differs by ${id}`, "remove the row, or add a call to `listed_calls.js`");
}
const table = guide.slice(guide.indexOf("| reference server | `mcp-filesystem` | reason |")).split("\n\n")[0];
for (const row of table.split("\n").slice(2)) {
  const isCompared = DIFFERENCES.some(({ reference, paddock, why }) => row === `| ${reference} | ${paddock} | ${why} |`);
  if (!isCompared) fail("a row of the guide is not compared", row);
}
if (number < 200) fail("too few calls", `${number} of at least 200`);
console.log(`${number} calls with seed ${seed}: ${equal} equal, ${failed} failed`);
for (const [id, count] of occurred) console.log(`${String(count).padStart(5)} ${id}`);
