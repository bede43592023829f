import { pino } from 'pino';
import { expect, it } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import type { Actor, AuditEntry } from '../../src/site/audit-trail.js';
import { PermissionRefusals } from '../../src/site/permission-refusals.js';

const subject = { locationId: null, resourceId: null };

function token(id: string, address = '192.0.2.7'): Actor {
  return { type: 'access-token', id, address, requestId: null };
}

function anonymous(address: string): Actor {
  return { type: 'anonymous', id: null, address, requestId: null };
}

function refused(count: number, path = '/') {
  return Array.from({ length: count }, (_, index) => ({
    subject,
    details: { path: `${path}${index}` },
  }));
}

/** Where each call of the store is answered by the test. */
function start() {
  const calls: { entries: readonly AuditEntry[]; answer: (error?: Error) => void }[] = [];
  const clock = { nowMs: 1_000 };
  const lines: string[] = [];
  const audit = {
    record: (entries: readonly AuditEntry[]) =>
      new Promise<void>((resolve, reject) => {
        const answer = (error?: Error) => (error === undefined ? resolve() : reject(error));
        calls.push({ entries, answer });
      }),
  };
  const refusals = new PermissionRefusals({
    ...{ audit, patientAudit: audit },
    log: pino({ level: 'info' }, { write: (line: string) => lines.push(line) }),
    now: () => clock.nowMs,
    steadyNow: () => clock.nowMs,
  });
  return { calls, clock, lines, refusals };
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

it('are each a record, in calls of a hundred, one after the other; told when all are stored', async () => {
  const { calls, refusals } = start();
  let isTold = false;
  const told = refusals.record(token('a'), refused(250)).then(() => {
    isTold = true;
  });
  for (const length of [100, 100, 50]) {
    await turn();
    const { entries, answer } = calls.at(-1) ?? {};
    expect([entries?.length, isTold]).toEqual([length, false]);
    answer?.();
  }
  await told;
  const paths = calls.flatMap(({ entries }) => entries.map(({ details }) => details['path']));
  expect(paths).toEqual(refused(250).map(({ details }) => details.path));
});

it('are not told when the store fails, nor written any further', async () => {
  const { calls, refusals } = start();
  const told = refusals.record(token('a'), refused(250));
  await turn();
  calls[0]?.answer(new GatewayError('store-unavailable', 'The store does not answer.'));
  await expect(told).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(calls).toHaveLength(1);
});

it('beyond a thousand at once are no records, but counted, and said once a minute', async () => {
  const { calls, clock, lines, refusals } = start();
  void refusals.record(token('a'), refused(995));
  await turn();
  const told = () => refusals.record(token('a', '192.0.2.8'), refused(10));
  const tooMany = { code: 'too-many-refusals', retryAfterMs: 500 };
  await expect(told()).rejects.toMatchObject(tooMany);
  await expect(told()).rejects.toMatchObject(tooMany);
  expect([calls.length, refusals.turnedAwayCount, lines.length]).toEqual([1, 2, 1]);
  expect(lines[0]).toMatch(/"level":40.*"id":"a".*refused too much/);
  clock.nowMs += 499;
  await expect(told()).rejects.toMatchObject({ code: 'too-many-refusals' });
  clock.nowMs += 1;
  void told();
  await turn();
  expect([calls.length, lines.length]).toEqual([2, 1]);
});

it('are counted of nobody known by the address, of somebody known wherever he is', async () => {
  const { calls, refusals } = start();
  void refusals.record(anonymous('192.0.2.7'), refused(1_000));
  void refusals.record(anonymous('192.0.2.8'), refused(1_000));
  void refusals.record(token('a', '192.0.2.7'), refused(1_000));
  await turn();
  expect(calls).toHaveLength(3);
  for (const actor of [anonymous('192.0.2.7'), token('a', '192.0.2.9')]) {
    await expect(refusals.record(actor, refused(1))).rejects.toMatchObject({
      code: 'too-many-refusals',
    });
  }
});

it('tell no more of what a client made up than 256 characters', async () => {
  const { calls, refusals } = start();
  void refusals.record(token('a'), refused(1, 'x'.repeat(5_000)));
  await turn();
  expect(calls[0]?.entries).toMatchObject([{ details: { path: 'x'.repeat(256) } }]);
});

it('of one who can wait are tried again until they are stored, and counted once', async () => {
  const { calls, lines, refusals } = start();
  let isTold = false;
  const told = refusals
    .recordPatiently(token('patient'), refused(150), () => false)
    .then(() => {
      isTold = true;
    });
  const isAsked = (count: number) => expect.poll(() => calls.length).toBe(count);
  calls[0]?.answer(new GatewayError('store-unavailable', 'full'));
  await isAsked(2);
  calls[1]?.answer(new GatewayError('store-unavailable', 'full'));
  await isAsked(3);
  expect(calls.map(({ entries }) => entries.length)).toEqual([100, 100, 100]);
  expect(lines.filter((line) => line.includes('trying again'))).toHaveLength(1);
  calls[2]?.answer();
  await isAsked(4);
  expect(isTold).toBe(false);
  calls[3]?.answer();
  await told;
  // 850 are left.
  const rest = refusals.record(token('patient'), refused(850));
  await expect(refusals.record(token('patient'), refused(1))).rejects.toThrow('too-many-refusals');
  for (let call = 4; call < 13; call++) {
    await isAsked(call + 1);
    calls[call]?.answer();
  }
  await rest;
});

it('of one who has gone are not tried again', async () => {
  const { calls, refusals } = start();
  const recorded = refusals.recordPatiently(token('patient'), refused(1), () => true);
  calls[0]?.answer(new GatewayError('store-unavailable', 'full'));
  await expect(recorded).rejects.toThrow('store-unavailable');
  expect(calls).toHaveLength(1);
});
