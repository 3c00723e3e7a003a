/** The sample project with which the page starts. */
export const sample = {
  'README.md': `# Orchard

A tiny inventory of fruit trees.

- \`src/orchard.js\` keeps the trees
- \`src/report.js\` says what is ripe

TODO: tell pears from quinces.
`,
  'src/orchard.js': `/** Fruit trees, by name. */
export class Orchard {
  #trees = new Map();

  plant(name, kind) {
    this.#trees.set(name, { kind, ripe: false });
  }

  ripen(name) {
    this.#trees.get(name).ripe = true;
  }

  *ripe() {
    for (const [name, tree] of this.#trees) {
      if (tree.ripe) yield { name, kind: tree.kind };
    }
  }
}
`,
  'src/report.js': `import { Orchard } from './orchard.js';

export function report(orchard) {
  const lines = [...orchard.ripe()].map(({ name, kind }) => \`\${name} (\${kind})\`);
  return lines.length > 0 ? lines.join('\\n') : 'nothing is ripe yet';
}

const orchard = new Orchard();
orchard.plant('Bramley', 'apple');
orchard.plant('Conference', 'pear');
orchard.ripen('Conference');
console.log(report(orchard));
`,
  'data/trees.csv': `name,kind,planted
Bramley,apple,1998
Conference,pear,2004
Vranja,quince,2011
`,
  '.gitignore': `dist/
*.log
`,
};

/** Example arguments of each tool. */
export const examples = {
  read_file: { path: 'src/orchard.js' },
  read_files: { glob: 'src/*.js' },
  write_file: { path: 'notes.txt', content: 'Prune in February.\n' },
  edit_file: { path: 'src/report.js', edits: [{ old_text: 'nothing is ripe yet', new_text: 'come back in September' }] },
  apply_patch: {
    patch: `*** Begin Patch
*** Update File: data/trees.csv
@@
 Vranja,quince,2011
+Victoria,plum,2019
*** Add File: CHANGELOG.md
+- a plum
*** End Patch
`,
  },
  replace: { pattern: "'(apple|pear)'", replacement: "'ripe $1'", glob: '*.js' },
  list_dir: { depth: 2 },
  tree: {},
  glob: { pattern: '**/*.js' },
  grep: { pattern: 'ripe|TODO', case: 'smart', context: 1 },
  changes: {},
  stat: { path: 'README.md', checksum: true },
  make_dir: { path: 'data/archive' },
  copy: { source: 'README.md', destination: 'docs/README.md' },
  move: { source: 'data/trees.csv', destination: 'data/2026.csv' },
  delete: { path: 'data', recursive: true },
  restore: { path: 'src/report.js' },
};
