/** Makes the calls of a case and records their complete outcomes, without the parts that differ between runs. */

/** Values of `{root}` and `{outside}` over the memory backend. */
export const IN_MEMORY = { root: '/workspace', outside: '/paddock-outside' };

/** Makes the calls of a case one after the other, and returns their outcomes. */
export async function drive(testCase, names, workspace) {
  const [outcomes, noted] = [[], []];
  for (const call of testCase.calls) {
    const args = call.raw ?? JSON.stringify(filled(call.arguments, names, outcomes));
    const { ok, result, text, changes, truncated } = await workspace.call(call.tool, args, { dialect: call.dialect });
    const outcome = { ok, [ok ? 'result' : 'error']: result, text, changes, truncated };
    noted.push(normal(outcome, '', testCase.isAbsolute ? names : undefined));
    outcomes.push(outcome);
  }
  return noted;
}

export function fill(text, names) {
  return text.replaceAll('{root}', names.root).replaceAll('{outside}', names.outside);
}

export function clear(text, names) {
  return text.replaceAll(names.root, '{root}').replaceAll(names.outside, '{outside}');
}

/** Replaces placeholders and references to earlier results in the arguments. */
function filled(value, names, outcomes) {
  if (typeof value === 'string') {
    const [, index, path] = /^\$(\d+)\.(.*)$/s.exec(value) ?? [];
    return index === undefined ? fill(value, names) : valueAt(outcomes[index], path);
  }
  return mapped(value, (member) => filled(member, names, outcomes));
}

function valueAt(outcome, path) {
  const value = path.split('.').reduce((value, name) => value?.[name], outcome?.result);
  if (value === undefined || value === null) throw new Error(`its result has no \`${path}\`: ${JSON.stringify(outcome)}`);
  return value;
}

/** Returns a value without the times of this run, and with `{root}` and `{outside}` in place of absolute paths. */
function normal(value, key, names) {
  if (key === 'also_undone') return value.map(() => '<backup>');
  if (typeof value !== 'string') return mapped(value, (member, name) => normal(member, name, names));
  if (key === 'accessed' || key === 'changed') return '<time>';
  if (key === 'backup' || key === 'undone') return '<backup>';
  if (key === 'token') return '<token>';
  const text = withoutBackups(withoutTokens(withoutTimes(value)));
  return names ? clear(text, names) : text;
}

function mapped(value, change) {
  if (Array.isArray(value)) return value.map((item) => change(item, ''));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}

/** Times since 2025 are of this run; earlier times come from the case. */
function withoutTimes(text) {
  return text.replace(/(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time, year) => (year < '2025' ? time : '<time>'));
}

/** The short ids of backups contain times of this run. */
function withoutBackups(text) {
  return text.replace(/(^|[( ])1[7-9]\d{11}(?:-[0-9a-f]+)*(?= <time>|\]|; |\)| undoes)/gm, '$1<backup>');
}

/** The tokens of `changes` contain the time of this run. */
function withoutTokens(text) {
  return text.replace(/since=\d{13}-[0-9a-f]{16}/g, 'since=<token>');
}
