import { expect, it } from 'vitest';
import type { LogEntry } from '../../src/delivery/log-entry.js';
import { LogKeeper } from '../../src/delivery/log-keeper.js';
import { ArrayLogs, Connection, type PeerOptions, silent, World } from './world.js';

const LIMITS = { maxInFlight: 10, maxQueued: 10_000, maxAgeMs: 1_000 };

interface Home {
  readonly logs: ArrayLogs;
  readonly world: World;
  readonly append: (topic: string, count?: number) => Promise<LogEntry[]>;
}

async function homeOf(peer: Omit<PeerOptions, 'name'>, limits: object = {}): Promise<Home> {
  const logs = new ArrayLogs();
  const world = await World.begin({
    ...{ logs, reader: logs, saved: new Map(), now: () => 0 },
    ...LIMITS,
    ...limits,
    peers: [{ name: 'nurse', ...peer }],
  });
  const append = async (topic: string, count = 1): Promise<LogEntry[]> => {
    const entries: LogEntry[] = [];
    for (let left = count; left > 0; left--) {
      const entry = await logs.append('alarms', topic, 0);
      world.router.appended(entry, true);
      entries.push(entry);
    }
    return entries;
  };
  return { logs, world, append };
}

async function connected({ world, logs }: Home): Promise<Connection> {
  const connection = new Connection();
  world.destination('nurse').connect(connection);
  await settled(logs);
  return connection;
}

async function settled(logs: ArrayLogs): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await logs.idle();
}

/** Acknowledges everything that is sent, in its order, until nothing more is. */
async function acknowledgeAll({ world, logs }: Home, connection: Connection): Promise<void> {
  for (let at = 0; at < connection.sent.length; at++) {
    world.destination('nurse').acknowledge(connection.sent[at]?.messageId ?? 0);
    await settled(logs);
  }
}

/** Sequence numbers, those from after the loss marked. */
function seenOn({ sent }: Connection): string[] {
  return sent.map(({ payload }) => {
    const { n, losses } = JSON.parse(payload.toString());
    return losses > 0 ? `new ${n}` : `${n}`;
  });
}

function alarm(device: string): string {
  return `care-homes/l/devices/${device}/alarms/fall`;
}

it('an entry under a lost number reaches one who had the lost one in flight and went away', async () => {
  const home = await homeOf({ filters: ['a'] });
  const first = await connected(home);
  await home.append('a');
  await home.append('b', 2);
  const nurse = home.world.destination('nurse');
  // It has read up to the end.
  nurse.wake();
  nurse.disconnect(first);
  home.logs.lose('alarms', 1);
  await home.append('a', 2);
  const connection = await connected(home);
  await acknowledgeAll(home, connection);
  expect(seenOn(connection)).toEqual(['1', 'new 2', 'new 3']);
});

it('nothing that was read before the loss is sent after it', async () => {
  const home = await homeOf({ filters: ['a'] }, { maxInFlight: 2 });
  await home.append('a', 10);
  home.world.forgetTails();
  const connection = await connected(home);
  home.logs.lose('alarms', 5);
  await home.append('a', 2);
  await acknowledgeAll(home, connection);
  expect(seenOn(connection)).toEqual(['1', '2', '3', '4', '5', 'new 6', 'new 7']);
});

it.each(['acknowledged', 'refused'])('a lost entry that is %s settles no other', async (answer) => {
  const home = await homeOf({ filters: ['a'] });
  const first = await connected(home);
  await home.append('a', 2);
  const nurse = home.world.destination('nurse');
  const pass = nurse.refusal(first.sent[1]?.messageId ?? 0);
  home.logs.lose('alarms', 1);
  await home.append('a');
  expect(seenOn(first)).toEqual(['1', '2', 'new 2']);
  nurse.acknowledge(first.sent[0]?.messageId ?? 0);
  if (answer === 'refused') pass();
  else nurse.acknowledge(first.sent[1]?.messageId ?? 0);
  nurse.disconnect(first);
  expect(seenOn(await connected(home))).toEqual(['new 2']);
});

it('nothing goes ahead under the number of a lost alarm', async () => {
  const filters = ['care-homes/l/#'];
  const home = await homeOf({ filters, replayPerSecond: 1e9 }, { maxInFlight: 2 });
  for (let pair = 0; pair < 5; pair++) {
    await home.append(alarm('a'));
    await home.append(alarm('b'));
  }
  const connection = await connected(home);
  await home.append(alarm('a'));
  home.logs.lose('alarms', 5);
  await home.append('care-homes/other/devices/x/alarms/fall');
  await home.append(alarm('b'));
  await home.append(alarm('a'));
  await acknowledgeAll(home, connection);
  expect(connection.sent.map(({ topic }) => topic)).not.toContain(
    'care-homes/other/devices/x/alarms/fall',
  );
  expect(
    seenOn(connection)
      .filter((one) => one.startsWith('new'))
      .toSorted(),
  ).toEqual(['new 7', 'new 8']);
});

it('a sweep does not pass what its subscriber has gone back to meanwhile', async () => {
  const bounds = { maxInFlight: 5_000, maxQueued: 1_010 };
  const home = await homeOf({ filters: ['a'] }, bounds);
  const { logs, world } = home;
  const nurse = world.destination('nurse');
  const first = await connected(home);
  await home.append('a', 1_000);
  first.isWritable = false;
  await home.append('a', 30);
  let pages = 0;
  const keeper = new LogKeeper({
    logs: {
      read: async (log, after, count) => {
        const page = await logs.read(log, after, count);
        pages++;
        // Between the two pages that the sweep takes.
        if (pages === 2) nurse.disconnect(first);
        return page;
      },
      pick: (log, sequences) => logs.pick(log, sequences),
      lastSequence: (log) => logs.lastSequence(log),
      trim: async () => undefined,
    },
    router: world.router,
    saveProgress: async () => undefined,
    storedSettled: () => 0,
    log: silent,
    now: () => 0,
  });
  await keeper.keep();
  const connection = await connected(home);
  await settled(logs);
  expect(connection.sent).toHaveLength(bounds.maxQueued);
  expect(nurse.cursors.alarms.expired).toBe(0);
});

it('a gap that is filled tells of each entry once', async () => {
  const home = await homeOf({ filters: ['a'] });
  const entries: LogEntry[] = [];
  for (let n = 0; n < 3; n++) entries.push(await home.logs.append('alarms', 'a', 0));
  const [first, second, third] = entries;
  if (first === undefined || second === undefined || third === undefined) throw new Error('none');
  // The answers for the first two were lost; recorded again, they are known.
  home.world.router.appended(third, true);
  home.world.router.appended(first, false);
  home.world.router.appended(second, false);
  await settled(home.logs);
  expect(home.world.destination('nurse').cursors.alarms.accepted).toBe(3);
  expect(home.world.router.tails.alarms.last).toBe(3);
});
