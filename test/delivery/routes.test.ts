import { describe, expect, it } from 'vitest';
import { type Member, Routes, type SelectionRule } from '../../src/delivery/routes.js';
import type { QoS } from '../../src/delivery/sessions/subscriptions.js';
import { LIMITS } from './running-delivery.js';

const nothing = () => undefined;

function member(isConnected = false): Member {
  const cursor = { position: { offset: 0 }, needs: () => true, recount: nothing };
  return {
    isConnected,
    cursors: { alarms: cursor, messages: cursor },
    ...{
      offerCopy: () => true,
      offer: nothing,
      offerAtQos0: nothing,
      offerDirect: nothing,
      checkBounds: nothing,
    },
  };
}

function rule(...filters: readonly (readonly [string, QoS])[]): SelectionRule {
  return {
    ...{ audienceKey: 'all', mayReceive: () => true, limits: LIMITS },
    filters: filters.map(([filter, qos]) => ({ filter, qos })),
  };
}

describe('routes', () => {
  it('put members with the same filters, permissions and limits in one selection', () => {
    const routes = new Routes();
    const one = routes.join(rule(['a', 1], ['b/#', 0]), member());
    expect(routes.join(rule(['b/#', 0], ['a', 1]), member())).toBe(one);
    expect(routes.join(rule(['a', 0], ['b/#', 1]), member())).not.toBe(one);
    const others = { ...rule(['a', 1], ['b/#', 0]), audienceKey: 'others' };
    expect(routes.join(others, member())).not.toBe(one);
    const bounded = { ...rule(['a', 1], ['b/#', 0]), limits: { ...LIMITS, maxQueued: 1 } };
    expect(routes.join(bounded, member())).not.toBe(one);
    expect(one.members.size).toBe(2);
  });

  it('match a topic once for a selection, at the highest QoS', () => {
    const routes = new Routes();
    const selection = routes.join(rule(['a/#', 0], ['a/+', 1], ['+/x', 0]), member());
    expect(routes.match('a/x')).toEqual([{ selection, qos: 1 }]);
    expect(routes.match('a/x/y')).toEqual([{ selection, qos: 0 }]);
    expect(routes.match('b')).toEqual([]);
  });

  it('match a topic anew when a selection is added or removed', () => {
    const routes = new Routes();
    const one = member();
    expect(routes.match('a')).toEqual([]);
    const selection = routes.join(rule(['a', 1]), one);
    expect(routes.match('a')).toEqual([{ selection, qos: 1 }]);
    expect(routes.match('a')).toBe(routes.match('a'));
    const other = member();
    routes.join(rule(['a', 1]), other);
    routes.leave(selection, one);
    expect(routes.match('a')).toEqual([{ selection, qos: 1 }]);
    routes.leave(selection, other);
    expect(routes.match('a')).toEqual([]);
    expect([...routes.selections()]).toEqual([]);
  });

  it('know which members are connected', () => {
    const routes = new Routes();
    const [here, away] = [member(true), member()];
    const selection = routes.join(rule(['a', 1]), here);
    routes.join(rule(['a', 1]), away);
    expect([...selection.connected]).toEqual([here]);
    routes.leave(selection, here);
    expect(selection.connected.size).toBe(0);
  });

  it('make a pending change once before the next match, unless it was cancelled', () => {
    const routes = new Routes();
    const joined: string[] = [];
    const change = () => {
      joined.push('one');
      routes.join(rule(['a', 1]), member());
    };
    const cancelled = () => {
      joined.push('two');
    };
    for (let times = 0; times < 1_000; times++) routes.changeLater(change);
    routes.changeLater(cancelled);
    routes.cancel(cancelled);
    expect(joined).toEqual([]);
    expect(routes.match('a')).toHaveLength(1);
    routes.applyChanges();
    expect(joined).toEqual(['one']);
  });
});
