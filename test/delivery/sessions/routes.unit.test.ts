import { describe, expect, it } from 'vitest';
import { Routes } from '../../../src/delivery/routes.js';
import type { QoS } from '../../../src/delivery/sessions/subscriptions.js';

function member(isConnected = false) {
  return { session: 'one', isConnected };
}

function filters(...rows: readonly (readonly [string, QoS])[]) {
  return () => rows.map(([filter, qos]) => ({ filter, qos }));
}

describe('routes', () => {
  it('match a topic once per member, at the highest QoS', () => {
    const routes = new Routes();
    const one = member();
    routes.set(one, filters(['a/#', 0], ['a/+', 1], ['+/x', 0]));
    expect(routes.match('a/x')).toEqual([{ member: one, qos: 1, ownQos: 1 }]);
    expect(routes.match('a/x/y')).toEqual([{ member: one, qos: 0, ownQos: 0 }]);
    expect(routes.match('b')).toEqual([]);
  });

  it('reflect added, changed and removed filters', () => {
    const routes = new Routes();
    const [one, other] = [member(), member()];
    expect(routes.match('a')).toEqual([]);
    routes.set(one, filters(['a', 1], ['b', 1]));
    expect(routes.match('a')).toEqual([{ member: one, qos: 1, ownQos: 1 }]);
    expect(routes.match('a')).toBe(routes.match('a'));
    routes.set(other, filters(['a', 1]));
    routes.set(one, filters(['b', 0]));
    expect(routes.match('a')).toEqual([{ member: other, qos: 1, ownQos: 1 }]);
    expect(routes.match('b')).toEqual([{ member: one, qos: 0, ownQos: 0 }]);
    routes.remove(other);
    expect(routes.match('a')).toEqual([]);
  });

  it('read the filters of a member once before the next match, however often they changed', () => {
    const routes = new Routes();
    const one = member();
    let reads = 0;
    const read = () => {
      reads++;
      return [{ filter: 'a', qos: 1 as const }];
    };
    for (let times = 0; times < 1_000; times++) routes.set(one, read);
    expect(reads).toBe(0);
    expect(routes.match('a')).toHaveLength(1);
    expect(reads).toBe(1);
  });

  it('know whether a connected member may match what it did not match before', () => {
    const routes = new Routes();
    routes.set(member(), filters(['a', 1]));
    expect(routes.joinCount).toBe(0);
    routes.set(member(true), filters(['a', 1]));
    routes.connected();
    expect(routes.joinCount).toBe(2);
  });
});
