/** A program that uses the published npm package: it edits a file and reads it. */

import { Workspace } from 'paddock-files';

const workspace = await Workspace.open(process.argv[2]);
await workspace.edit({ path: 'notes.txt', edits: [{ oldText: 'colour', newText: 'color' }] });
const { text } = await workspace.call('read_file', { path: 'notes.txt' });
console.log(text);
await workspace.close();
