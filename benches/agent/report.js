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

/** Returns the tables as text, and the figures as they are recorded. */
export function report(now, before) {
  const lines = [row(["server", "tasks", "right tree", "recovered in one call", "calls", "bytes of text", "tokens sent", "tokens received", "tokens", "tokens of the tool list"])];
  lines.push(row(["---", ...Array(9).fill("---:")]));
  for (const [name, { list, results }] of Object.entries(now)) lines.push(figuresRow(name, list, [...results.values()]));
  for (const [name, { list, results }] of Object.entries(before ?? {})) lines.push(figuresRow(`${name}, before`, list, [...results.values()]));
  lines.push("", ...comparison(now, before));
  return { text: lines.join("\n"), figures: record(now, before) };
}

function figuresRow(name, list, results) {
  const right = results.filter((result) => result.right).length;
  const sums = ["calls", "bytes", "sent", "received", "tokens"].map((field) => number(total(results, field)));
  return row([`\`${name}\``, results.length, right, recovered(results), ...sums, number(list)]);
}

/** Returns a table of the tasks of `paddock`, beside the reference server and an earlier binary. */
function comparison(now, before) {
  const lines = [];
  const pair = (title, ours, theirs) => {
    if (!ours || !theirs) return;
    const both = [...ours.keys()].filter((task) => ours.get(task).right && theirs.get(task)?.right);
    if (both.length === 0) return;
    const [a, b] = [ours, theirs].map((results) => both.map((task) => results.get(task)));
    const ratio = total(a, "tokens") / total(b, "tokens");
    lines.push(row([title, both.length, `${total(a, "calls")} : ${total(b, "calls")}`, `${number(total(a, "tokens"))} : ${number(total(b, "tokens"))}`, ratio.toFixed(2)]));
  };
  lines.push(row(["comparison", "tasks that both do", "calls", "tokens", "ratio"]), row(["---", "---:", "---:", "---:", "---:"]));
  for (const [name, { results }] of Object.entries(now)) if (name !== "reference") pair(`\`${name}\` : reference server`, results, now.reference?.results);
  for (const [name, { results }] of Object.entries(now)) pair(`\`${name}\` : before`, results, before?.[name]?.results);
  return lines;
}

/** Returns one line for each task: calls and tokens by server. */
export function each(tasks, now, before) {
  const columns = [...Object.entries(now), ...Object.entries(before ?? {}).map(([name, entry]) => [`${name}, before`, entry])];
  const cell = (result) => (result ? `${result.calls} / ${number(result.tokens)}${result.right ? "" : " ✗"}` : "");
  const lines = [row(["task: calls / tokens", ...columns.map(([name]) => name)]), row(["---", ...columns.map(() => "---:")])];
  for (const task of tasks) lines.push(row([task.name, ...columns.map(([, { results }]) => cell(results.get(task.name)))]));
  return lines.join("\n");
}

function record(now, before) {
  const of = (entries) =>
    Object.fromEntries(
      Object.entries(entries ?? {}).map(([name, { results }]) => [
        name,
        Object.fromEntries([...results].map(([task, { right, calls, tokens }]) => [task, { right, calls, tokens }])),
      ]),
    );
  return { now: of(now), before: of(before) };
}

/** Returns what fails: a wrong tree, a mistake that needs several calls, and figures that are worse than on record. */
export function failures(now, isWhole, recorded) {
  const found = [];
  for (const [name, { results }] of Object.entries(now)) {
    const known = recorded?.now[name] ?? {};
    for (const [task, result] of results) {
      if (name !== "reference" && !result.right) found.push(`${task} by ${name}: ${result.faults.join("; ")}`);
      else if (name !== "reference" && result.recovery > 1) found.push(`${task} by ${name}: ${result.recovery} calls to recover`);
      if (known[task] && result.calls > known[task].calls) found.push(`${task} by ${name}: ${result.calls} calls, ${known[task].calls} on record`);
    }
    const both = [...results].filter(([task]) => known[task]);
    const [sum, most] = [total(both.map(([, result]) => result), "tokens"), total(both.map(([task]) => known[task]), "tokens")];
    if (sum > most * TOLERANCE) found.push(`${name}: ${sum} tokens, ${most} on record`);
    if (recorded && both.length < results.size) found.push(`${name}: ${results.size - both.length} tasks are not on record; run with --record`);
  }
  const { paddock, reference } = now;
  if (isWhole && paddock && reference) {
    const both = [...paddock.results].filter(([task, result]) => result.right && reference.results.get(task)?.right);
    const [ours, theirs] = [total(both.map(([, result]) => result), "tokens"), total(both.map(([task]) => reference.results.get(task)), "tokens")];
    if (ours > theirs * OF_REFERENCE) found.push(`paddock takes ${ours} tokens for what takes the reference server ${theirs}`);
  }
  return found;
}
