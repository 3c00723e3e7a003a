// Runs one task's calls on one server, and judges the tree and the texts.

import { changed, difference, readTree, writeTree } from "./fixture.js";

/**
 * Runs the steps of a task. A step that fails, or whose text lacks what the next step needs, is followed by its
 * `otherwise`: the calls of a model that has to find out in another way. A mistake that the tool carried out, though
 * not as meant, is followed by its `done`. Returns the answers, in order, and why the script could not continue.
 */
async function play(session, steps, isDone) {
  const answers = [];
  const values = {};
  for (let left = steps; left.length > 0; ) {
    const [step, ...rest] = left;
    const answer = await session.call(step.tool, fill(step.args, values));
    answers.push(answer);
    const lack = missing(step, answer, values);
    if (step.wrong && isDone(answers)) return { answers };
    if (lack === undefined) {
      left = step.done && !answer.failed ? step.done : rest;
    } else if (step.otherwise) {
      left = step.otherwise;
    } else {
      return { answers, lack: `${step.tool}: ${lack}` };
    }
  }
  return { answers };
}

/**
 * Returns what an answer lacks for the script to continue, and takes the values for further steps from its text: those
 * of `take` have to be there, those of `notes` may be.
 */
function missing(step, answer, values) {
  if (answer.failed && !step.wrong) return "the call failed";
  for (const [name, pattern] of Object.entries(step.notes ?? {})) values[name] = pattern.exec(answer.text)?.[1] ?? values[name];
  for (const [name, pattern] of Object.entries(step.take ?? {})) {
    const match = pattern.exec(answer.text);
    if (!match) return `the text has no ${name} (${pattern})`;
    values[name] = match[1] ?? match[0];
  }
  const absent = [step.says ?? []].flat().find((pattern) => !contains(answer.text, pattern));
  return absent === undefined ? undefined : `the text does not say ${absent}`;
}

const contains = (text, pattern) => (pattern instanceof RegExp ? pattern.test(text) : text.includes(pattern));

/** Returns `value` with `{name}` replaced by the text that an earlier step took, and `{#name}` by it as a number. */
function fill(value, values) {
  if (typeof value === "string") {
    const number = /^\{#(\w+)\}$/.exec(value);
    if (number && number[1] in values) return Number(values[number[1]].replaceAll(",", ""));
    return value.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values));
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, values)]));
  return value;
}

/**
 * Runs `task` on the server `session`, from the start tree on. `further` is the number of calls that follow the
 * recovery from a mistake, as they would have followed the right call.
 */
export async function run(session, task, steps, start) {
  const before = changed(start, task.start ?? {});
  const after = changed(before, task.after ?? {});
  writeTree(session.top, before);
  // A mistake that the tool accepted as meant needs no recovery.
  const isDone = (answers) => evaluate(task, answers, session.top, after).length === 0;
  if (task.mistake && isDone([])) throw new Error("a mistake needs a changed tree or a fact, to tell whether it was corrected");
  const { answers, lack } = await play(session, steps, isDone);
  const faults = evaluate(task, answers, session.top, after);
  if (lack) faults.unshift(lack);
  const sum = (field) => answers.reduce((total, answer) => total + answer[field], 0);
  return {
    answers,
    lack,
    faults,
    right: faults.length === 0,
    calls: answers.length,
    recovery: task.mistake ? answers.length - 1 - (task.further ?? 0) : undefined,
    bytes: sum("bytes"),
    sent: sum("sent"),
    received: sum("received"),
    tokens: sum("sent") + sum("received"),
  };
}

/** Returns what is wrong after the calls: paths with other content, and facts that no text contains. */
function evaluate(task, answers, top, after) {
  const paths = difference(readTree(top), after).map((path) => `${path} is not as expected`);
  const texts = answers.map((answer) => answer.text).join("\n");
  const facts = [task.facts ?? []].flat().filter((fact) => !contains(texts, fact));
  return [...paths, ...facts.map((fact) => `no text contains ${fact}`)];
}
