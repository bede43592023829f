/** Topic filters as a tree of levels: matches a topic without trying each filter. */

interface Node<T> {
  readonly children: Map<string, Node<T>>;
  readonly values: Set<T>;
}

export class FilterTree<T> {
  readonly #root: Node<T> = newNode();

  add(filter: string, value: T): void {
    let node = this.#root;
    for (const level of filter.split('/')) {
      const child = node.children.get(level) ?? newNode<T>();
      node.children.set(level, child);
      node = child;
    }
    node.values.add(value);
  }

  remove(filter: string, value: T): void {
    removeFrom(this.#root, filter.split('/'), value);
  }

  /** Every value with at least one matching filter, once. */
  match(topic: string): Set<T> {
    const found = new Set<T>();
    const levels = topic.split('/');
    // [MQTT-4.7.2-1]: a leading wildcard does not match a topic that begins with `$`.
    if (topic.startsWith('$')) {
      const child = this.#root.children.get(levels[0] ?? '');
      if (child !== undefined) collect(child, levels, 1, found);
    } else {
      collect(this.#root, levels, 0, found);
    }
    return found;
  }
}

function newNode<T>(): Node<T> {
  return { children: new Map(), values: new Set() };
}

function collect<T>(node: Node<T>, levels: readonly string[], depth: number, found: Set<T>): void {
  // `a/#` matches `a` itself as well [MQTT-4.7.1-2].
  const rest = node.children.get('#');
  if (rest !== undefined) for (const value of rest.values) found.add(value);
  const level = levels[depth];
  if (level === undefined) {
    for (const value of node.values) found.add(value);
    return;
  }
  for (const name of [level, '+']) {
    const child = node.children.get(name);
    if (child !== undefined) collect(child, levels, depth + 1, found);
  }
}

/** Removes a value. Returns whether the node is now empty and can go. */
function removeFrom<T>(node: Node<T>, levels: readonly string[], value: T): boolean {
  const [level, ...rest] = levels;
  if (level === undefined) {
    node.values.delete(value);
  } else {
    const child = node.children.get(level);
    if (child !== undefined && removeFrom(child, rest, value)) node.children.delete(level);
  }
  return node.children.size === 0 && node.values.size === 0;
}
