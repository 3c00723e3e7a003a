// Tables of the figures, and the comparison with those on record.

/** Most tokens of all tasks of a driver, compared with the record: ids and hashes in texts vary by some tokens. */
const TOLERANCE = 1.01;
/** Most tokens of `paddock`, compared with the reference server on the tasks that both do. */
const OF_REFERENCE = 2 / 3;

const number = (value) => value.toLocaleString("en");
const row = (cells) => `| ${cells.join(" | ")} |`;
const total = (results, field) => results.reduce((sum, result) => sum + result[field], 0);
const recovered = (results) => {
  const mistakes = results.filter((result) => result.recovery !== undefined);
  return mistakes.length === 0 ? "–" : `${mistakes.filter(inOne).length} of ${mistakes.length}`;
};
const inOne = (result) => result.right && result.recovery <= 1;

/**
 * Returns the tables as text, and the figures as they are recorded. Without results of an earlier binary, the figures
 * of it that are on record are compared.
 */
export function report(now, before, recordedBefore) {
  const lines = [row(["server", "tasks", "right tree", "recovered in one call", "calls", "bytes of text", "tokens sent", "tokens received", "tokens", "tokens of the tool list"])];
  lines.push(row(["---", ...Array(9).fill("---:")]));
  for (const [name, entry] of Object.entries(now)) {
    if (before?.[name]) lines.push(figuresRow(`\`${name}\`, before`, before[name]));
    lines.push(figuresRow(`\`${name}\``, entry));
  }
  const figures = { now: figuresOf(now), before: before ? figuresOf(before) : recordedBefore };
  lines.push("", ...comparison(figures));
  return { text: lines.join("\n"), figures };
}

function figuresRow(title, entry) {
  const results = [...entry.results.values()];
  const right = results.filter((result) => result.right).length;
  const sums = ["calls", "bytes", "sent", "received", "tokens"].map((field) => number(total(results, field)));
  return row([title, results.length, right, recovered(results), ...sums, number(entry.list)]);
}

/** Returns a table of the tasks that two servers, or one before and now, end with the right tree. */
function comparison({ now, before }) {
  const lines = [row(["comparison", "tasks that both do", "calls", "tokens", "ratio"]), row(["---", "---:", "---:", "---:", "---:"])];
  const pair = (title, ours, theirs) => {
    const { tasks, sums } = common(ours, theirs);
    if (tasks === 0) return;
    const cells = ["calls", "tokens"].map((field) => sums(field).map(number).join(" : "));
    const [a, b] = sums("tokens");
    lines.push(row([title, tasks, ...cells, (a / b).toFixed(2)]));
  };
  const names = Object.keys(now).filter((name) => name !== "reference");
  for (const name of names) pair(`\`${name}\` : reference server`, now[name], now.reference ?? {});
  for (const name of names) pair(`\`${name}\` : before`, now[name], before[name] ?? {});
  return lines;
}

/** The tasks that both end with the right tree: their number, and the sums of a field. */
function common(ours, theirs) {
  const tasks = Object.keys(ours).filter((task) => ours[task].right && theirs[task]?.right);
  return { tasks: tasks.length, sums: (field) => [ours, theirs].map((figures) => total(tasks.map((task) => figures[task]), field)) };
}

/** Returns one line for each task: calls and tokens by server. */
export function each(tasks, now, before) {
  const columns = [...Object.entries(now), ...Object.entries(before ?? {}).map(([name, entry]) => [`${name}, before`, entry])];
  const cell = (result) => (result ? `${result.calls} / ${number(result.tokens)}${result.right ? "" : " ✗"}` : "");
  const lines = [row(["task: calls / tokens", ...columns.map(([name]) => name)]), row(["---", ...columns.map(() => "---:")])];
  for (const task of tasks) lines.push(row([task.name, ...columns.map(([, { results }]) => cell(results.get(task.name)))]));
  return lines.join("\n");
}

function figuresOf(entries) {
  const figures = ([task, { right, calls, tokens }]) => [task, { right, calls, tokens }];
  return Object.fromEntries(Object.entries(entries).map(([name, { results }]) => [name, Object.fromEntries([...results].map(figures))]));
}

/**
 * Returns what fails: a wrong tree, a mistake that needs several calls, and figures that are worse than on record. A
 * run of some tasks is not compared with the reference server.
 */
export function failures(now, isWhole, recorded) {
  const list = [];
  for (const [name, { results }] of Object.entries(now)) {
    const known = recorded?.[name] ?? {};
    for (const [task, result] of results) {
      // The goal holds for `paddock`; the other dialects answer as their originals do, and become no worse.
      const isKnown = name !== "paddock" && known[task];
      if (name !== "reference" && !result.right && !(isKnown && !known[task].right)) list.push(`${task} by ${name}: ${result.faults.join("; ")}`);
      else if (name !== "reference" && result.recovery > 1 && !isKnown) list.push(`${task} by ${name}: ${result.recovery} calls to recover`);
      else if (known[task]?.right && result.calls > known[task].calls) list.push(`${task} by ${name}: ${result.calls} calls, ${known[task].calls} on record`);
      if (recorded && !known[task]) list.push(`${task} by ${name} is not on record: run with --record`);
    }
    const [sum, recorded_sum] = common(Object.fromEntries(results), known).sums("tokens");
    if (sum > recorded_sum * TOLERANCE) list.push(`${name}: ${number(sum)} tokens, ${number(recorded_sum)} on record`);
  }
  if (isWhole) {
    const figures = figuresOf(now);
    const [ours, theirs] = common(figures.paddock, figures.reference).sums("tokens");
    if (ours > theirs * OF_REFERENCE) list.push(`paddock takes ${number(ours)} tokens for what takes the reference server ${number(theirs)}`);
  }
  return list;
}
