/** Calls tools as a model would, and shows the text that a model gets. */

import { examples } from './sample.js';

const byId = (id) => document.getElementById(id);

export class ToolConsole {
  #tools = [];
  #tool;
  #outcome;
  #asJson = false;

  /** `after` is called after each call that may have changed files. */
  constructor(workspace, after) {
    this.workspace = workspace;
    this.after = after;
  }

  async start() {
    const dialects = await this.workspace.dialects();
    byId('dialect').append(...dialects.map((name) => new Option(name, name)));
    byId('dialect').addEventListener('change', () => this.#speak(byId('dialect').value));
    byId('call').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#run();
    });
    byId('arguments').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#run();
    });
    byId('tab-text').addEventListener('click', () => this.#render(false));
    byId('tab-json').addEventListener('click', () => this.#render(true));
    await this.#speak('paddock');
  }

  async #speak(dialect) {
    this.dialect = dialect;
    this.#tools = await this.workspace.tools({ dialect });
    byId('tools').replaceChildren(...this.#tools.map((tool) => this.#button(tool)));
    this.#choose(this.#tools[0]);
  }

  #button(tool) {
    const button = document.createElement('button');
    button.textContent = tool.name;
    button.setAttribute('role', 'option');
    button.title = tool.annotations.title;
    button.addEventListener('click', () => this.#choose(tool));
    return button;
  }

  #choose(tool) {
    this.#tool = tool;
    for (const button of byId('tools').children) button.setAttribute('aria-selected', String(button.textContent === tool.name));
    byId('description').textContent = tool.description;
    byId('schema').replaceChildren(...schemaRows(tool.inputSchema));
    const example = this.dialect === 'paddock' ? examples[tool.name] : undefined;
    byId('arguments').value = JSON.stringify(example ?? skeleton(tool.inputSchema), null, 2);
  }

  async #run() {
    byId('run').disabled = true;
    const began = performance.now();
    try {
      this.#outcome = await this.workspace.call(this.#tool.name, byId('arguments').value, { dialect: this.dialect });
      const took = performance.now() - began;
      byId('took').textContent = `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`;
      this.#render(this.#asJson);
      if (!this.#tool.annotations.readOnly) await this.after();
    } finally {
      byId('run').disabled = false;
    }
  }

  #render(asJson) {
    this.#asJson = asJson;
    byId('tab-text').setAttribute('aria-selected', String(!asJson));
    byId('tab-json').setAttribute('aria-selected', String(asJson));
    if (!this.#outcome) return;
    const { ok, result, text, changes } = this.#outcome;
    const outcome = ok ? { ok, result, changes } : { ok, error: result };
    byId('result').textContent = asJson ? JSON.stringify(outcome, null, 2) : text || JSON.stringify(result, null, 2);
    byId('result').classList.toggle('failed', !ok);
  }
}

function schemaRows({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => {
    const row = document.createElement('tr');
    const [code, type, text] = [document.createElement('code'), document.createElement('code'), document.createElement('span')];
    code.textContent = name;
    code.classList.toggle('needed', required.includes(name));
    type.textContent = schema.enum ? schema.enum.join(' | ') : [schema.type ?? 'any'].flat().join(' | ');
    text.textContent = [schema.description, schema.default === undefined ? '' : `Default: ${JSON.stringify(schema.default)}.`].filter(Boolean).join(' ');
    for (const content of [code, type, text]) row.insertCell().append(content);
    return row;
  });
}

/** Returns an example value for each required property. */
function skeleton({ properties = {}, required = [] }) {
  const empty = { string: '', integer: 1, number: 1, boolean: false, array: [], object: {} };
  return Object.fromEntries(required.map((name) => [name, name === 'path' ? 'README.md' : (empty[[properties[name]?.type].flat()[0]] ?? null)]));
}
