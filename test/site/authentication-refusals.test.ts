import { expect, it } from 'vitest';
import type { Actor, AuditEntry } from '../../src/site/audit-trail.js';
import { AuthenticationRefusals } from '../../src/site/authentication-refusals.js';

function from(address: string): Actor {
  return { type: 'anonymous', id: null, address, requestId: null };
}

function start() {
  const entries: AuditEntry[] = [];
  const clock = { nowMs: 1_000 };
  const refusals = new AuthenticationRefusals({
    audit: { add: (entry) => entries.push(entry) },
    now: () => clock.nowMs,
    steadyNow: () => clock.nowMs,
  });
  const refuse = (address: string, path: string) => refusals.add(from(address), { path });
  const told = () => entries.splice(0).map(({ details }) => details);
  return { clock, refusals, refuse, told };
}

it('are written down one by one, and beyond a hundred a minute as one with their number', () => {
  const { clock, refusals, refuse, told } = start();
  const times = (count: number) => Array.from({ length: count }, (_, index) => `/${index}`);
  for (const path of times(250)) refuse('a', path);
  expect(told()).toEqual(times(100).map((path) => ({ path })));
  clock.nowMs += 59_999;
  refusals.sweep();
  expect(told()).toEqual([]);
  clock.nowMs += 1;
  refusals.sweep();
  expect(told()).toEqual([{ path: '/249', repeated: '150' }]);
  refuse('a', '/again');
  expect(told()).toEqual([{ path: '/again' }]);
});

it('of one address are counted apart from those of another', () => {
  const { refuse, told } = start();
  for (let count = 0; count < 200; count++) refuse('a', '/');
  told();
  refuse('b', '/b');
  expect(told()).toEqual([{ path: '/b' }]);
});

it('that were only counted are written down at the stop', () => {
  const { refusals, refuse, told } = start();
  for (let count = 0; count < 101; count++) refuse('a', '/');
  told();
  refusals.stop();
  expect(told()).toEqual([{ path: '/', repeated: '1' }]);
});

it('are counted of a bounded number of addresses; none is forgotten with it', () => {
  const { refuse, told } = start();
  for (let count = 0; count < 101; count++) refuse('first', '/');
  for (let count = 0; count < 9_999; count++) refuse(`other-${count}`, '/');
  told();
  refuse('one more', '/');
  expect(told()).toEqual([{ path: '/' }, { path: '/', repeated: '1' }]);
});

it('tell no more of what a client made up than 256 characters', () => {
  const { refuse, told } = start();
  refuse('a', `/${'x'.repeat(5_000)}`);
  expect(told()).toEqual([{ path: `/${'x'.repeat(255)}` }]);
});
