import { expect, it } from 'vitest';
import type { Actor, AuditEntry } from '../../src/site/audit-trail.js';
import { Refusals } from '../../src/site/refusals.js';

const nowhere = { locationId: null, resourceId: null };

function actor(id: string, address = '192.0.2.7'): Actor {
  return { type: 'access-token', id, address, requestId: null };
}

function start() {
  const entries: AuditEntry[] = [];
  const clock = { nowMs: 1_000 };
  const refusals = new Refusals({
    audit: { add: (entry) => entries.push(entry) },
    now: () => clock.nowMs,
    steadyNow: () => clock.nowMs,
  });
  const refuse = (who: Actor, path: string) => refusals.permission(who, nowhere, { path });
  const told = () => entries.splice(0).map(({ details }) => details);
  return { clock, refusals, refuse, told };
}

it('are written down one by one, and beyond a hundred a minute as one with their number', () => {
  const { clock, refusals, refuse, told } = start();
  const times = (count: number) => Array.from({ length: count }, (_, index) => `/${index}`);
  for (const path of times(250)) refuse(actor('a'), path);
  expect(told()).toEqual(times(100).map((path) => ({ path })));
  clock.nowMs += 59_999;
  refusals.sweep();
  expect(told()).toEqual([]);
  clock.nowMs += 1;
  refusals.sweep();
  expect(told()).toEqual([{ path: '/249', repeated: '150' }]);
  refuse(actor('a'), '/again');
  expect(told()).toEqual([{ path: '/again' }]);
});

it('of one are counted apart from those of another, or from elsewhere, or of another kind', () => {
  const { refusals, refuse, told } = start();
  for (let count = 0; count < 200; count++) refuse(actor('a'), '/');
  told();
  refuse(actor('b'), '/b');
  refuse(actor('a', '192.0.2.8'), '/elsewhere');
  refusals.authentication(actor('a'), { path: '/login' });
  expect(told()).toEqual([{ path: '/b' }, { path: '/elsewhere' }, { path: '/login' }]);
});

it('that were only counted are written down at the stop', () => {
  const { refusals, refuse, told } = start();
  for (let count = 0; count < 101; count++) refuse(actor('a'), '/');
  told();
  refusals.stop();
  expect(told()).toEqual([{ path: '/', repeated: '1' }]);
});

it('are counted of a bounded number of principals; none is forgotten with it', () => {
  const { refuse, told } = start();
  for (let count = 0; count < 101; count++) refuse(actor('first'), '/');
  for (let count = 0; count < 9_999; count++) refuse(actor(`other-${count}`), '/');
  told();
  refuse(actor('one more'), '/');
  expect(told()).toEqual([{ path: '/' }, { path: '/', repeated: '1' }]);
});

it('tell no more of what a client made up than 256 characters', () => {
  const { refuse, told } = start();
  refuse(actor('a'), `/${'x'.repeat(5_000)}`);
  expect(told()).toEqual([{ path: `/${'x'.repeat(255)}` }]);
});
