/**
 * The harness itself: a promise that is broken must fail a test. The ledger finds what is lost, repeated or out of
 * order; the described interface refuses a wrong message; the proxy breaks a line in the way that it is told.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { describedMqtt } from '../harness/described/described-mqtt.js';
import { type GatewayAccount, Ledger, type SentAlarm } from '../harness/ledger.js';
import { CutProxy } from '../harness/proxy.js';
import { until } from '../harness/wait.js';

interface Case {
  readonly name: string;
  /** The numbers of the alarms that come, in order; as a repeat with DUP, or as a live copy. */
  readonly arrivals: readonly (
    | number
    | { readonly n: number; readonly dup?: boolean; readonly qos?: number }
  )[];
  readonly acknowledged?: readonly number[];
  /** The history, by number. */
  readonly history?: readonly number[];
  readonly account?: Partial<
    Record<'accepted' | 'delivered' | 'queued' | 'expired' | 'dropped', number>
  >;
  readonly fails?: RegExp;
}

const CASES: readonly Case[] = [
  { name: 'everything once and in order', arrivals: [0, 1, 2] },
  { name: 'a live copy before the record', arrivals: [{ n: 0, qos: 0 }, 0, 1, 2] },
  { name: 'a repeat with DUP', arrivals: [0, { n: 0, dup: true }, 1, 2] },
  { name: 'a lost alarm', arrivals: [0, 2], fails: /not at nurse: 1 .*#1/ },
  {
    name: 'an alarm that came live only',
    arrivals: [0, { n: 1, qos: 0 }, 2],
    fails: /not at nurse: 1/,
  },
  { name: 'a repeat without DUP', arrivals: [0, 0, 1, 2], fails: /repeated at nurse: 1/ },
  { name: 'a wrong order', arrivals: [1, 0, 2], fails: /out of order at nurse: 1 .*#0/ },
  {
    name: 'an alarm that nobody sent',
    arrivals: [0, 1, 2, 7],
    fails: /sent by nobody and at nurse/,
  },
  {
    name: 'an alarm without PUBACK',
    arrivals: [0, 1, 2],
    acknowledged: [0, 1],
    fails: /not acknowledged: 1/,
  },
  {
    name: 'PUBACKs in a wrong order',
    arrivals: [0, 1, 2],
    acknowledged: [1, 0, 2],
    fails: /acknowledged out of order/,
  },
  {
    name: 'an alarm missing in the history',
    arrivals: [0, 1, 2],
    history: [0, 2],
    fails: /not in the history: 1/,
  },
  {
    name: 'an alarm twice in the history',
    arrivals: [0, 1, 2],
    history: [0, 1, 1, 2],
    fails: /more than once in the history/,
  },
  {
    name: 'a dropped message',
    arrivals: [0, 1, 2],
    account: { delivered: 2, dropped: 1 },
    fails: /account of nurse/,
  },
  {
    name: 'an account that does not add up',
    arrivals: [0, 1, 2],
    account: { accepted: 5 },
    fails: /account of nurse/,
  },
];

test.each(CASES)(
  'the ledger judges $name',
  async ({ arrivals, acknowledged = [0, 1, 2], history = [0, 1, 2], account, fails }) => {
    const ledger = new Ledger();
    const nurse = ledger.destination('nurse', true);
    nurse.subscribed(['care-homes/+/devices/+/alarms/#']);
    const id = (n: number) => `id-${n}`;
    const sent = [0, 1, 2].map(
      (n): SentAlarm =>
        ledger.sent({
          deviceId: 'bed',
          n,
          kind: 'fall',
          id: id(n),
          isOwed: true,
          isTellable: true,
        }),
    );
    for (const n of acknowledged) {
      const alarm = sent[n];
      if (alarm !== undefined) ledger.acknowledged(alarm);
    }
    for (const arrival of arrivals) {
      const { n, dup = false, qos = 1 } = typeof arrival === 'number' ? { n: arrival } : arrival;
      const text = JSON.stringify({ id: id(n), device: { id: 'bed' }, data: { n } });
      const topic = 'care-homes/home/devices/bed/alarms/fall';
      nurse.received({ topic, text, qos: qos === 0 ? 0 : 1, retain: false, dup, atMs: 0 });
    }
    const gateway: GatewayAccount = {
      history: async () => history.map(id),
      account: async () => ({
        accepted: 3,
        delivered: 3,
        queued: 0,
        expired: 0,
        dropped: 0,
        ...account,
      }),
    };
    const judged = ledger.settled(gateway, { timeoutMs: 50 });
    if (fails === undefined) await judged;
    else await expect(judged).rejects.toThrow(fails);
  },
);

test('a message that does not match the described interface fails', () => {
  const status = { online: true, version: '1.2.3', at: '2026-01-01T00:00:00.000Z', faults: [] };
  const message =
    (change: object, topic = 'gateway/status', qos = 1) =>
    () =>
      describedMqtt.check({
        topic,
        qos,
        retain: true,
        text: JSON.stringify({ ...status, ...change }),
      });
  expect(message({})).not.toThrow();
  expect(message({ colour: 'red' })).toThrow();
  expect(message({ online: 'yes' })).toThrow();
  expect(message({}, 'gateway/other')).toThrow();
  expect(message({}, 'gateway/status', 2)).toThrow();
});

test('a proxy passes, loses bytes in each direction, resets, refuses, and counts', async () => {
  const received: string[] = [];
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received.push(bytes.toString());
      socket.write(`echo ${bytes}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const proxy = await CutProxy.start(typeof address === 'object' ? (address?.port ?? 0) : 0);
  const open = async () => {
    const answers: string[] = [];
    const socket = connect({ port: proxy.port, host: '127.0.0.1' });
    socket.on('data', (bytes) => answers.push(bytes.toString()));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return { socket, answers };
  };
  const has = (list: string[], text: string) => until(() => list.includes(text), text);
  const { socket, answers } = await open();
  socket.write('passed');
  await has(answers, 'echo passed');
  proxy.swallow('down');
  socket.write('down');
  await has(received, 'down');
  proxy.swallow('up');
  socket.write('up');
  proxy.mend();
  const other = await open();
  other.socket.write('again');
  await has(other.answers, 'echo again');
  expect(answers).toEqual(['echo passed']);
  expect(received).toEqual(['passed', 'down', 'again']);
  expect([proxy.attempts, proxy.open]).toEqual([2, 2]);
  proxy.reset();
  await proxy.untilClosed();
  proxy.refuse();
  const refused = connect({ port: proxy.port, host: '127.0.0.1' }).on('error', () => undefined);
  await until(() => refused.closed, 'the reset');
  expect(proxy.attempts).toBe(3);
  await proxy.close();
  server.close();
});
