/** Shows the files as a tree whose directories open and close. */

export class TreeView {
  #closed = new Set();
  #selected;

  /** `choose` is called with the path of the selected file. */
  constructor(element, choose) {
    this.element = element;
    this.choose = choose;
  }

  render(tree, changed) {
    this.element.replaceChildren(...this.#entries(nested(tree), '', new Set(changed)));
    this.select(this.#selected);
  }

  select(path) {
    this.#selected = path;
    for (const button of this.element.querySelectorAll('button')) {
      button.setAttribute('aria-selected', String(button.dataset.path === path));
    }
  }

  #entries(directory, prefix, changed) {
    const names = [...directory.keys()].sort((one, other) => isFile(directory.get(one)) - isFile(directory.get(other)) || (one < other ? -1 : 1));
    return names.map((name) => {
      const [path, below] = [prefix + name, directory.get(name)];
      return isFile(below) ? this.#file(path, name, changed) : this.#directory(path, name, below, changed);
    });
  }

  #file(path, name, changed) {
    const button = document.createElement('button');
    button.textContent = name;
    button.dataset.path = path;
    button.setAttribute('role', 'treeitem');
    button.classList.toggle('changed', changed.has(path));
    button.addEventListener('click', () => this.choose(path));
    return button;
  }

  #directory(path, name, below, changed) {
    const details = document.createElement('details');
    const [summary, inside] = [document.createElement('summary'), document.createElement('div')];
    summary.textContent = name;
    details.open = !this.#closed.has(path);
    details.addEventListener('toggle', () => (details.open ? this.#closed.delete(path) : this.#closed.add(path)));
    inside.append(...this.#entries(below, `${path}/`, changed));
    details.append(summary, inside);
    return details;
  }
}

/** Returns paths as nested maps; null stands for a file. */
function nested(tree) {
  const top = new Map();
  for (const [path, entry] of Object.entries(tree)) {
    const names = path.split('/');
    const last = names.pop();
    let directory = top;
    for (const name of names) {
      if (!directory.get(name)) directory.set(name, new Map());
      directory = directory.get(name);
    }
    if (entry !== null) directory.set(last, null);
    else if (!directory.has(last)) directory.set(last, new Map());
  }
  return top;
}

function isFile(below) {
  return below === null ? 1 : 0;
}
