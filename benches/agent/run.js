// The tasks in `tasks/`, done through each server as an agent does them.
// Usage: node run.js PADDOCK [--baseline PADDOCK] [--record | --check] [--task NAME] [--driver NAME] [--each] [--show]

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { dialect, DRIVERS, Session } from "./driver.js";
import { startTree } from "./fixture.js";
import { run } from "./script.js";
import { each, failures, report } from "./report.js";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    baseline: { type: "string" },
    record: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    task: { type: "string", multiple: true, default: [] },
    driver: { type: "string", multiple: true, default: [] },
    each: { type: "boolean", default: false },
    show: { type: "boolean", default: false },
  },
});
const RECORD = new URL("recorded.json", import.meta.url);
const README = new URL("../README.md", import.meta.url);
/** The tables of the README, which a record beside an older binary writes again. */
const TABLES = /\| server \| tasks [^]*?\n\n\| comparison [^]*?\n(?=\n)/;
/** Directory of the workspaces, of the servers' state and of their caches. */
const home = realpathSync(mkdtempSync(join(tmpdir(), "paddock-agent-")));

/** Returns the tasks, each with the name of its file. */
async function tasks() {
  const files = readdirSync(new URL("tasks", import.meta.url)).filter((file) => file.endsWith(".js")).sort();
  const all = await Promise.all(files.map(async (file) => ({ name: file.slice(0, -3), ...(await import(`./tasks/${file}`)).default })));
  return all.filter((task) => options.task.length === 0 || options.task.some((part) => task.name.includes(part)));
}

/** Runs all tasks that have calls for a driver, and returns its results by task. */
async function runDriver(name, binary, all, start) {
  const driver = DRIVERS[name];
  const top = join(home, name);
  const chosen = driver.dialects && dialect(binary, driver);
  const open = () => (driver.dialects ? Session.paddock(home, top, binary, chosen) : Session.reference(home, top));
  const results = new Map();
  let list = 0;
  // The reference server keeps nothing between calls and takes long to start, so one serves all tasks.
  let session;
  for (const task of all) {
    const steps = task[name] ?? task[driver.scripts];
    if (!steps) continue;
    mkdirSync(top, { recursive: true });
    session ??= await open();
    list ||= await session.list();
    results.set(task.name, await run(session, task, steps, start));
    if (options.show) printResult(name, task, results.get(task.name));
    if (driver.dialects) {
      await session.close();
      session = undefined;
    }
  }
  await session?.close();
  return { dialect: chosen, list, results };
}

function printResult(driver, task, result) {
  console.log(`\n=== ${task.name} by ${driver}: ${result.right ? "right" : result.faults.join("; ")}`);
  for (const answer of result.answers) console.log(`--> ${answer.request}\n${answer.text}`);
}

async function runAll(binary, names, all, start) {
  const entries = [];
  for (const name of names) entries.push([name, await runDriver(name, binary, all, start)]);
  return Object.fromEntries(entries);
}

/** Returns the figures as JSON, one task a line. */
function recordText(figures) {
  const object = (value, deep) =>
    deep === 0 ? JSON.stringify(value) : `{\n${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${object(item, deep - 1)}`).join(",\n")}\n}`;
  return `${object(figures, 3)}\n`;
}

try {
  const all = await tasks();
  const start = startTree();
  const isWhole = options.task.length === 0 && options.driver.length === 0;
  if (options.record && !isWhole) throw new Error("only a run of all tasks is recorded");
  const names = Object.keys(DRIVERS).filter((name) => options.driver.length === 0 || options.driver.includes(name));
  const now = await runAll(resolve(positionals[0] ?? "paddock"), names, all, start);
  const recorded = existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, "utf8")) : { now: {}, before: {} };
  const before = options.baseline && (await runAll(resolve(options.baseline), names.filter((name) => DRIVERS[name].dialects), all, start));
  const { text, figures } = report(now, before, recorded.before);
  if (options.each) console.log(`${each(all, now, before)}\n`);
  console.log(text);
  if (options.record) {
    writeFileSync(RECORD, recordText(figures));
    if (before) writeFileSync(README, readFileSync(README, "utf8").replace(TABLES, () => `${text}\n`));
  }
  const wrong = failures(now, isWhole, options.check ? recorded.now : undefined);
  for (const line of wrong) console.error(`fail ${line}`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  rmSync(home, { recursive: true, force: true });
}
