import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Informant } from '../../../src/store/pair/informant.js';
import { SentinelMajority, type Sought } from '../../../src/store/pair/sentinel-majority.js';
import { eventually } from '../../former/eventually.js';
import { RedisPair } from '../../former/servers/redis-pair.js';
import type { RedisProgram } from '../../former/servers/redis-program.js';
import { ConfirmedStore } from './replica-world.js';

const RECENTLY_MS = 1_500;

let pair: RedisPair;

beforeAll(async () => {
  pair = await RedisPair.start();
});

afterAll(async () => pair.remove());

/** Asks these Sentinels. */
function majorityOf(programs: readonly RedisProgram[]): SentinelMajority {
  const informants = programs.map(({ port }) => {
    const access = { password: pair.sentinelPassword };
    return new Informant({ host: '127.0.0.1', port }, access);
  });
  onTestFinished(() => {
    for (const informant of informants) informant.stop();
  });
  return new SentinelMajority(informants, pair.name);
}

/** A server to ask about, as a gateway behind a proxy knows it: only by its run id. */
async function sought(server: RedisProgram): Promise<Sought> {
  const runId = (await server.info('server', 'run_id')) ?? '';
  return { runId, host: undefined, port: undefined, heardWithinMs: RECENTLY_MS };
}

/** Freezes programs until the end of the test. */
function freeze(...programs: readonly RedisProgram[]): void {
  for (const program of programs) program.freeze();
  onTestFinished(() => {
    for (const program of programs) program.thaw();
  });
}

async function setDownAfter(ms: number): Promise<void> {
  const setting = ['set', pair.name, 'down-after-milliseconds', ms] as const;
  await Promise.all(pair.sentinelPrograms.map(({ redis }) => redis.call('sentinel', ...setting)));
}

/** A store whose writes the replica of the pair must confirm or, failing that, the Sentinels allow. */
function confirmedStore(primary: RedisProgram): ConfirmedStore {
  const majority = majorityOf(pair.sentinelPrograms);
  return new ConfirmedStore({ port: primary.port, password: pair.password }, { majority });
}

describe('the majority of the Sentinels', () => {
  test('recognises the primary, and not the replica', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const [primary, replica] = [await pair.primary(), await pair.replica()];

    expect(await majority.takesForPrimary(await sought(primary))).toBe(true);
    expect(await majority.takesForPrimary(await sought(replica))).toBe(false);
  });

  test('exists without one Sentinel, but not without two', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const primary = await sought(await pair.primary());
    const [, second, third] = pair.sentinelPrograms;
    if (second === undefined || third === undefined) throw new Error('too few Sentinels');

    freeze(third);
    expect(await majority.takesForPrimary(primary)).toBe(true);
    freeze(second);
    expect(await majority.takesForPrimary(primary)).toBe(false);
    second.thaw();
    await eventually(async () => expect(await majority.takesForPrimary(primary)).toBe(true));
  });

  test('counts Sentinels that the configuration does not name', async () => {
    const majority = majorityOf(pair.sentinelPrograms.slice(0, 1));
    const primary = await sought(await pair.primary());

    expect(await majority.takesForPrimary(primary)).toBe(false);
  });

  test('does not confirm a frozen primary', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const primary = await pair.primary();
    const frozen = await sought(primary);
    // Keeps the Sentinels from calling it down during the test.
    await setDownAfter(60_000);
    onTestFinished(() => setDownAfter(3_000));
    freeze(primary);

    await eventually(async () => expect(await majority.takesForPrimary(frozen)).toBe(false));
    primary.thaw();
    await eventually(async () => expect(await majority.takesForPrimary(frozen)).toBe(true));
  });
});

describe('a primary without its replica', () => {
  test('acknowledges while most Sentinels recognise it as the primary', async () => {
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const store = confirmedStore(primary).start();
    const door = store.patient();
    await door.write(['SET', '{home}:one', 'before']);
    freeze(replica);

    await door.write(['SET', '{home}:one', 'alone']);

    expect(store.faults.all).toEqual([expect.stringMatching(/one machine only/)]);
  });

  test('acknowledges nothing while it is cut off from most Sentinels, and resumes afterwards', async () => {
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const [, second, third] = pair.sentinelPrograms;
    if (second === undefined || third === undefined) throw new Error('too few Sentinels');
    const store = confirmedStore(primary).start();
    const door = store.patient();
    const management = await store.failing();
    await door.write(['SET', '{home}:one', 'before']);
    freeze(replica, second, third);
    let isAnswered = false;

    const write = door.write(['SET', '{home}:one', 'during']).finally(() => {
      isAnswered = true;
    });

    await eventually(() =>
      expect(store.faults.own).toEqual([expect.stringMatching(/most Sentinels/)]),
    );
    await expect(management.write(['SET', '{home}:two', ''])).rejects.toThrow(/most Sentinels/);
    expect(await management.read((redis) => redis.get('{home}:two'))).toBeNull();
    expect(isAnswered).toBe(false);
    third.thaw();
    expect(await write).toEqual(['OK']);
    expect(store.faults.own).toEqual([]);
    expect(await management.write(['SET', '{home}:two', ''])).toEqual(['OK']);
  });
});

// Last: the former primary becomes a replica only some seconds later.
describe('the majority of the Sentinels in a failover', () => {
  test('is lost as soon as one Sentinel replaces the primary, and recognises the next one by its address immediately', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const former = await sought(primary);
    expect(await majority.takesForPrimary(former)).toBe(true);
    const [first] = pair.sentinelPrograms;
    await eventually(async () => {
      const found = await first?.redis.call('sentinel', 'replicas', pair.name);
      expect(String(found)).toMatch(/,flags,slave,/);
    });
    // It is not promoted before it is thawed.
    freeze(replica);

    await first?.redis.call('sentinel', 'failover', pair.name);

    // The other Sentinels do not know yet.
    expect(await majority.takesForPrimary(former)).toBe(false);
    replica.thaw();
    await pair.untilTakenOver(primary);
    const next = { ...former, runId: 'not known yet', host: '127.0.0.1', port: replica.port };
    await eventually(async () => expect(await majority.takesForPrimary(next)).toBe(true));
    expect(await majority.takesForPrimary(former)).toBe(false);
  });
});
