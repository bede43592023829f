import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FilterTree } from '../../src/domain/filter-tree.js';
import { isFilter } from '../../src/domain/topics.js';
import { matchesFilter } from '../former/clients/matches-filter.js';

/** Few names, so that filters and topics match; an empty level and `$` are special in MQTT. */
const name = fc.constantFrom('a', 'b', '', '$s', 'constructor');
const topic = fc.array(name, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
const filter = fc
  .tuple(fc.array(fc.oneof(name, fc.constant('+')), { maxLength: 4 }), fc.boolean())
  .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
  .filter(isFilter);
const value = fc.integer({ min: 0, max: 3 });
const change = fc.record({ kind: fc.constantFrom('add', 'add', 'remove'), filter, value });

interface Held {
  readonly filter: string;
  readonly value: number;
}

describe('a filter tree', () => {
  it('finds the values of exactly the matching filters, after any additions and removals', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), fc.array(topic), (changes, topics) => {
        const tree = new FilterTree<number>();
        const held = new Map<string, Held>();
        for (const { kind, filter, value } of changes) {
          const key = `${value} ${filter}`;
          if (kind === 'add') held.set(key, { filter, value });
          else held.delete(key);
          if (kind === 'add') tree.add(filter, value);
          else tree.remove(filter, value);
        }
        for (const topic of topics) {
          const matching = [...held.values()].filter((one) => matchesFilter(one.filter, topic));
          expect(tree.match(topic)).toEqual(new Set(matching.map((one) => one.value)));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('distinguishes filters when each is its own value', () => {
    fc.assert(
      fc.property(fc.uniqueArray(filter, { maxLength: 30 }), topic, (filters, topic) => {
        const tree = new FilterTree<string>();
        for (const one of filters) tree.add(one, one);
        const matching = filters.filter((one) => matchesFilter(one, topic));
        expect([...tree.match(topic)].sort()).toEqual(matching.sort());
      }),
      { numRuns: 1_000 },
    );
  });

  it('matches according to the standard', () => {
    const tree = new FilterTree<string>();
    const filters = ['#', '+', 'a/#', 'a/+', '+/+', '/+', 'a/b', '$s/#', '+/b/#'];
    for (const one of filters) tree.add(one, one);
    const matching = (topic: string) => [...tree.match(topic)].sort();
    expect(matching('a')).toEqual(['#', '+', 'a/#']);
    expect(matching('a/b')).toEqual(['#', '+/+', '+/b/#', 'a/#', 'a/+', 'a/b']);
    expect(matching('/x')).toEqual(['#', '+/+', '/+']);
    expect(matching('$s/b')).toEqual(['$s/#']);
  });
});
