/** Changes `text.txt` back and forth between two texts until the process is killed. Usage: node change.js ROOT STATE */

import { Workspace } from '../../src/index.js';
import { TEXTS } from './texts.js';

const [, , root, stateDir] = process.argv;
const workspace = await Workspace.open(root, { stateDir });
process.send?.('started');
for (let index = 0; ; index += 1) {
  const { ok, text } = await workspace.call('write_file', { path: 'text.txt', content: TEXTS[index % 2] });
  if (!ok) throw new Error(text);
}
