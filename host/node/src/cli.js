/** The command `paddock` on this host: the MCP server, calls, and the list of tools. */

import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { policyOf } from './cli_policy.js';
import { toolError } from './errors.js';
import { PaddockError, Workspace, tools } from './index.js';
import { failed } from './outcome.js';

const USAGE = `\
usage: paddock mcp [DIR]... [options]           serve the tools over stdin and stdout
       paddock call TOOL [JSON | -] [options]   call one tool
       paddock batch [options]                  make the calls on stdin, one JSON object a line, a result a line
       paddock index [options]                  add the files to the search index, which makes searches faster
       paddock tools [--dialect LIST] [--format mcp|openai|anthropic|gemini]

options:
  --root DIR         a directory that the tools may use, the current one by default; DIR:ro is read-only; can be
                     repeated; the first is the workspace
  --read-only        let nothing be changed
  --dialect LIST     whose tool names, arguments and results to have; anthropic,paddock:grep,glob combines dialects
  --text-only        with \`mcp\`: answer without JSON, as to clients that give the model the JSON instead of the text
  --structured       with \`mcp\`: answer with JSON beside the text, also to these clients
  --policy FILE      a JSON file that says what tools may do; by default the JSON in PADDOCK_POLICY
  --state-dir DIR    where to keep journals and backups
  --ignore-project-policy   do without the workspace's own policy (.paddock.yaml and its like), which is not read here
  --ignore-user-policy      do without the user's policy (policy.yaml and its like), which is not read here
`;

/** Error of a wrong command line. */
class Usage extends Error {}

/** @param {string[]} argv @returns {Promise<number>} The exit status: 0 for success, 1 if the tool failed. */
async function main(argv) {
  const { values, positionals } = parse(argv);
  const [command, ...operands] = positionals;
  if (values.help) return print(USAGE);
  for (const name of /** @type {const} */ (['text-only', 'structured'])) {
    if (values[name] && command !== 'mcp') throw new Usage(`\`--${name}\` is an option of \`mcp\``);
  }
  if (values['text-only'] && values.structured) throw new Usage('`--text-only` and `--structured` exclude each other');
  if (command === 'tools') return await list(values);
  if (command !== 'mcp' && command !== 'call' && command !== 'batch' && command !== 'index') throw new Usage(command ? `there is no command \`${command}\`` : 'there is no command');
  const [tool, json = '{}'] = operands;
  if (command === 'call' && tool === undefined) throw new Usage('`call` needs a tool');
  const workspace = await open(directoriesOf(command, operands, values.root), values);
  try {
    if (command === 'mcp') {
      const { serve } = await import('./mcp.js');
      await serve(workspace, { dialect: values.dialect, textOnly: values.structured ? false : values['text-only'] });
      return 0;
    }
    if (command === 'batch') return await batch(workspace);
    if (command === 'index') return await index(workspace);
    return printOutcome(await workspace.call(tool, json === '-' ? await text(process.stdin) : json)) ? 0 : 1;
  } finally {
    workspace.close();
  }
}

/**
 * Returns the directories of the workspace: `mcp` also takes them as arguments.
 *
 * @param {'mcp' | 'call' | 'batch' | 'index'} command @param {string[]} operands @param {string[] | undefined} roots
 */
function directoriesOf(command, operands, roots) {
  const isNamed = command === 'mcp' && operands.length > 0;
  const unexpected = isNamed ? undefined : operands[command === 'call' ? 2 : 0];
  if (unexpected !== undefined) throw new Usage(`\`${command}\` takes no argument \`${unexpected}\``);
  if (isNamed && roots) throw new Usage('`mcp` takes directories either as arguments or by `--root`');
  return isNamed ? operands : roots ?? ['.'];
}

/** Prints the tools of a dialect. @param {any} values @returns {Promise<number>} 1 if there is no such dialect. */
async function list(values) {
  try {
    return print(`${JSON.stringify(await tools({ dialect: values.dialect, format: format(values.format) }), null, 2)}\n`);
  } catch (cause) {
    // A component that cannot be loaded (`io`) is a failure of the host.
    if (!(cause instanceof PaddockError) || cause.code === 'io') throw cause;
    printOutcome(failed(cause));
    return 1;
  }
}

/** @param {Workspace} workspace @returns {Promise<number>} 1 if any call failed. */
async function batch(workspace) {
  let ok = true;
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue;
    ok = printOutcome(await ofBatch(workspace, line)) && ok;
  }
  return ok ? 0 : 1;
}

/** Adds all files to the search index. @param {Workspace} workspace @returns {Promise<number>} 1 if this failed. */
async function index(workspace) {
  try {
    const { added, unsettled } = await workspace.updateIndex();
    return print(`${JSON.stringify({ added, unsettled })}\n`);
  } catch (cause) {
    if (!(cause instanceof PaddockError)) throw cause;
    printOutcome(failed(cause));
    return 1;
  }
}

/** Makes the call of a line; a wrong line is a failed call. @param {Workspace} workspace @param {string} line */
function ofBatch(workspace, line) {
  /** @type {any} */
  let call;
  try {
    call = JSON.parse(line);
  } catch {}
  const isCall = typeof call?.tool === 'string' && Object.keys(call).every((name) => ['tool', 'arguments', 'dialect'].includes(name));
  if (!isCall) return failed(toolError('invalid-argument', 'a line is {"tool", "arguments", "dialect"}'));
  const { tool, arguments: args = {}, dialect } = call;
  return workspace.call(tool, args, { dialect });
}

/** Prints the outcome of a call. @param {import('./outcome.js').Outcome} outcome @returns {boolean} Whether the call succeeded. */
function printOutcome({ ok, error, result, text, changes }) {
  // A failed call seldom changes anything; if it did, the caller has to know.
  const changed = ok || changes.length > 0 ? { changes } : {};
  print(`${JSON.stringify({ ok, ...(error && { error: plain(error) }), result, text, ...changed })}\n`);
  return ok;
}

/** Returns an error with the same members in every dialect. @param {import('./errors.js').ToolError} error */
function plain(error) {
  const { code, message, path = null, hint = null } = error;
  return { code, message, path, hint };
}

/** @param {string[]} argv @returns {{values: any, positionals: string[]}} */
function parse(argv) {
  const text = /** @type {const} */ ({ type: 'string' });
  const flag = /** @type {const} */ ({ type: 'boolean' });
  const options = { root: { ...text, multiple: true }, 'read-only': flag, 'text-only': flag, structured: flag, 'ignore-project-policy': flag, 'ignore-user-policy': flag, dialect: text, policy: text, 'state-dir': text, format: text, help: flag };
  try {
    return parseArgs({ args: argv, options: /** @type {any} */ (options), allowPositionals: true });
  } catch (cause) {
    throw new Usage(/** @type {Error} */ (cause).message);
  }
}

/** @param {string[]} directories @param {any} values */
async function open(directories, values) {
  const [first, ...roots] = directories.map(root);
  const isFirstReadOnly = first.access === 'read-only';
  if (isFirstReadOnly && roots.some(({ access }) => access !== 'read-only')) throw new Usage('a workspace that is read-only can only have further directories that are read-only');
  const readOnly = values['read-only'] || isFirstReadOnly;
  const projectPolicy = values['ignore-project-policy'] ? 'ignore' : 'refuse';
  try {
    const policy = policyOf(values.policy, values['ignore-user-policy']);
    return await Workspace.open(first.path, { roots, policy, projectPolicy, readOnly, dialect: values.dialect, stateDir: values['state-dir'] });
  } catch (cause) {
    if (cause instanceof PaddockError && cause.code === 'invalid-argument') throw new Usage(cause.message);
    throw cause;
  }
}

/**
 * @param {string} text The option's value. A directory can have a name that ends in `:ro`.
 * @returns {{path: string, access: import('./disk/mounts.js').RootOption['access']}}
 */
function root(text) {
  const isReadOnly = text.endsWith(':ro') && !existsSync(text);
  return { path: isReadOnly ? text.slice(0, -3) : text, access: isReadOnly ? 'read-only' : 'read-write' };
}

/** @param {any} value */
function format(value = 'mcp') {
  return value;
}

/** @param {string} text */
function print(text) {
  process.stdout.write(text);
  return 0;
}

/** Exit status of an error: the command line is wrong, or the host failed. */
const [WRONG_USAGE, FAILED] = [2, 3];

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
  },
  (cause) => {
    const isUsage = cause instanceof Usage;
    process.stderr.write(isUsage ? `paddock: ${cause.message}\n${USAGE}` : `paddock: ${cause instanceof PaddockError ? cause.message : cause?.stack}\n`);
    process.exitCode = isUsage ? WRONG_USAGE : FAILED;
  },
);
