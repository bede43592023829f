/** Filters and topics as trees of levels: each finds what matches without trying all. */

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

interface TopicNode<T> {
  children: Map<string, TopicNode<T>> | undefined;
  value: T | undefined;
}

/** Values by topic: finds those whose topic matches a filter without trying each. */
export class TopicTree<T> {
  readonly #root: TopicNode<T> = { children: undefined, value: undefined };

  get(topic: string): T | undefined {
    let node: TopicNode<T> | undefined = this.#root;
    for (const level of topic.split('/')) node = node?.children?.get(level);
    return node?.value;
  }

  set(topic: string, value: T): void {
    let node = this.#root;
    for (const level of topic.split('/')) {
      node.children ??= new Map();
      const child: TopicNode<T> = node.children.get(level) ?? {
        children: undefined,
        value: undefined,
      };
      node.children.set(level, child);
      node = child;
    }
    node.value = value;
  }

  delete(topic: string): void {
    prune(this.#root, topic.split('/'), 0);
  }

  /** Each value that matches any of the filters, once and as it is when its turn comes. */
  match(filters: readonly string[]): Generator<T> {
    return walk(
      this.#root,
      filters.map((filter) => filter.split('/')),
      0,
    );
  }
}

/** Removes a topic below a node. Returns whether the node is now empty and can go. */
function prune<T>(node: TopicNode<T>, levels: readonly string[], depth: number): boolean {
  const level = levels[depth];
  if (level === undefined) node.value = undefined;
  else {
    const child = node.children?.get(level);
    if (child !== undefined && prune(child, levels, depth + 1)) node.children?.delete(level);
  }
  return node.value === undefined && (node.children?.size ?? 0) === 0;
}

/**
 * @param filters those that match the levels down to the node
 * @param isBelowRest whether a `#` above matches everything from here
 */
function* walk<T>(
  node: TopicNode<T>,
  filters: readonly (readonly string[])[],
  depth: number,
  isBelowRest = false,
): Generator<T> {
  const has = (wanted: string | undefined) => filters.some((levels) => levels[depth] === wanted);
  const isRest = isBelowRest || has('#');
  // `a/#` matches `a` itself as well [MQTT-4.7.1-2].
  if (node.value !== undefined && (isRest || has(undefined))) yield node.value;
  const named = new Set(filters.flatMap((levels) => levels[depth] ?? []));
  for (const name of isRest || has('+') ? (node.children?.keys() ?? []) : named) {
    const child = node.children?.get(name);
    if (child === undefined) continue;
    // [MQTT-4.7.2-1]: a leading wildcard does not match a topic that begins with `$`.
    const takesWildcards = depth > 0 || !name.startsWith('$');
    const further = filters.filter(
      ({ [depth]: level }) => level === name || (level === '+' && takesWildcards),
    );
    if (isRest && takesWildcards) yield* walk(child, [], depth + 1, true);
    else if (further.length > 0) yield* walk(child, further, depth + 1);
  }
}
