/** Filters and topics as trees of levels: each finds what matches without trying all. */

interface Node<T> {
  readonly children: Map<string, Node<T>>;
  readonly values: Set<T>;
}

export class FilterTree<T> {
  readonly #root: Node<T> = newNode();

  add(filter: string, value: T): void {
    addTo(this.#root, filter, value);
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

function addTo<T>(root: Node<T>, filter: string, value: T): void {
  let node = root;
  for (const level of filter.split('/')) {
    const child = node.children.get(level) ?? newNode<T>();
    node.children.set(level, child);
    node = child;
  }
  node.values.add(value);
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

  /**
   * Each value that matches any of the filters, once and as it is when its turn comes.
   *
   * Yields undefined now and then, so that the reader can let others go first: there may be a hundred thousand topics.
   */
  *match(filters: readonly string[]): Generator<T | undefined> {
    const wanted = newNode<string>();
    for (const filter of filters) addTo(wanted, filter, filter);
    const open = [stepAt(this.#root, [wanted], false, true)];
    let looks = 0;
    for (let step = open.at(-1); step !== undefined; step = open.at(-1)) {
      const { done, value: name } = step.names.next();
      if (done === true) open.pop();
      else {
        if (++looks % LOOKS_AT_ONCE === 0) yield undefined;
        const next = stepBelow(step, name);
        if (next?.isMatch === true && next.node.value !== undefined) yield next.node.value;
        if (next?.node.children !== undefined) open.push(next);
      }
    }
  }
}

/** Topics looked at in a row, which takes a millisecond or two. */
const LOOKS_AT_ONCE = 2_000;

/** The state of a `match` below a topic. */
interface Step<T> {
  readonly node: TopicNode<T>;
  /** The filters that match so far. */
  readonly filters: readonly Node<string>[];
  /** Whether a `#` matches everything from here. */
  readonly isRest: boolean;
  readonly isMatch: boolean;
  readonly isRoot: boolean;
  readonly names: Iterator<string>;
}

function stepAt<T>(
  node: TopicNode<T>,
  filters: readonly Node<string>[],
  isBelowRest: boolean,
  isRoot = false,
): Step<T> {
  const has = (name: string) => filters.some(({ children: levels }) => levels.has(name));
  const isRest = isBelowRest || has('#');
  // `a/#` matches `a` itself as well [MQTT-4.7.1-2].
  const isMatch = isRest || filters.some(({ values }) => values.size > 0);
  const { children = new Map<string, TopicNode<T>>() } = node;
  const namedCount = filters.reduce((sum, { children: levels }) => sum + levels.size, 0);
  const isAny = isRest || has('+') || children.size < namedCount;
  const named = () => new Set(filters.flatMap(({ children: levels }) => [...levels.keys()]));
  const names = isAny ? children.keys() : named().values();
  return { node, filters, isRest, isMatch, isRoot, names };
}

/** Undefined if no filter matches there. */
function stepBelow<T>(
  { node, filters, isRest, isRoot }: Step<T>,
  name: string,
): Step<T> | undefined {
  const child = node.children?.get(name);
  if (child === undefined) return undefined;
  // [MQTT-4.7.2-1]: a leading wildcard does not match a topic that begins with `$`.
  const takesWildcards = !isRoot || !name.startsWith('$');
  if (isRest && takesWildcards) return stepAt(child, [], true);
  const levels = takesWildcards ? [name, '+'] : [name];
  const further = filters.flatMap(({ children }) =>
    levels.flatMap((one) => children.get(one) ?? []),
  );
  return further.length === 0 ? undefined : stepAt(child, further, false);
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
