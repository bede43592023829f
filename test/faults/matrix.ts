/**
 * The matrix of faults: what may fail, at which instant, and what each destination of an alarm is owed meanwhile.
 *
 * Whatever the row, an alarm that was acknowledged is in the history once, and comes to every durable destination in
 * the order of its device (contract 4.1 to 4.4); `matrix.test.ts` holds that for every row at every instant.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from '../harness/gateway.js';
import { killProcess, storeProcessId } from '../harness/gateway.js';
import type { Nurse } from '../harness/nurse.js';
import type { CutProxy } from '../harness/proxy.js';
import type { RedisProgram } from '../harness/redis.js';
import type { Sensor } from '../harness/sensor.js';
import { eventually } from '../harness/wait.js';

/** What a fault can reach. */
export interface Place {
  readonly gateway: Gateway;
  /** The operator's own Redis, and the line to it. */
  readonly server: RedisProgram;
  readonly line: CutProxy;
  /** Where a small disk is mounted. */
  readonly disk: string;
  readonly durable: Nurse;
  readonly sensors: readonly Sensor[];
}

/**
 * What a destination gets while the fault lasts: the alarm `at once` from the history; a live `copy`, and the alarm
 * itself later; everything `late`. What `may miss` is no longer connected, and is owed what comes from then on.
 */
export type Owed = 'at once' | 'copy' | 'late' | 'may miss';

export interface Fault {
  readonly name: string;
  /** The gateway that it needs: with its own store, behind a server, on a small disk, or as a process. */
  readonly on: 'own store' | 'server' | 'disk' | 'process';
  readonly apply: (place: Place) => unknown;
  readonly undo: (place: Place) => unknown;
  readonly owed: Readonly<Record<'durable' | 'live' | 'bridge' | 'events' | 'webhook', Owed>>;
  /** Whether alarms are stored, and acknowledged, while it lasts; undefined where that is a matter of time. */
  readonly isStored: boolean | undefined;
  /** The code of the fault that the gateway then reports. */
  readonly code?: string;
  /** Whether the gateway ends: what was in flight comes again as if for the first time, and QoS 0 is lost. */
  readonly endsGateway?: boolean;
  /** Whether an alarm at QoS 0 may be lost, as nobody would send it again. */
  readonly losesQos0?: boolean;
  /** Whether the gateway waits for its end before it serves. */
  readonly delaysStart?: boolean;
  /** Whether the durable nurse acknowledges nothing while it lasts. */
  readonly isSilent?: boolean;
  /** Instants that need more than the gateway of the tests can do. */
  readonly skips?: readonly string[];
  /** How many alarms each sensor raises at a time. */
  readonly alarms?: number;
}

const AT_ONCE = {
  durable: 'at once',
  live: 'at once',
  bridge: 'at once',
  events: 'at once',
  webhook: 'at once',
} as const;
/** A store that takes nothing: everybody who is connected gets a copy, and bridges and webhooks wait for the alarm. */
const COPIES = {
  durable: 'copy',
  live: 'copy',
  bridge: 'late',
  events: 'copy',
  webhook: 'late',
} as const;
const AFTER_RESTART = {
  durable: 'late',
  live: 'may miss',
  bridge: 'late',
  events: 'late',
  webhook: 'late',
} as const;

/** What the receiver of a webhook still takes for its own time. */
const JUMP_MS = 240_000;
/** More than a nurse may have in flight. */
const BEYOND_THE_WINDOW = 40;
/** It would stand by, as its first attempt takes the lease, and hears of it too late. */
const STANDS_BY = ['while the gateway starts'];
const FILLER = 'filler';

export const FAULTS: readonly Fault[] = [
  {
    name: 'a store that does not answer',
    on: 'server',
    apply: ({ server }) => server.freeze(),
    undo: ({ server }) => server.thaw(),
    owed: COPIES,
    isStored: false,
    code: 'store-unreachable',
    skips: STANDS_BY,
  },
  {
    name: 'a store that is killed',
    on: 'server',
    apply: ({ server }) => server.kill(),
    undo: ({ server }) => server.start(),
    owed: COPIES,
    isStored: false,
    code: 'store-unreachable',
    delaysStart: true,
  },
  {
    name: 'a store that cannot be reached',
    on: 'server',
    apply: ({ line }) => line.cut(),
    undo: ({ line }) => line.mend(),
    owed: COPIES,
    isStored: false,
    code: 'store-unreachable',
    delaysStart: true,
  },
  {
    name: 'a store whose memory is full',
    on: 'server',
    apply: ({ server }) => server.redis.config('SET', 'maxmemory', '1'),
    undo: ({ server }) => server.redis.config('SET', 'maxmemory', '0'),
    owed: COPIES,
    isStored: false,
    code: 'store-full',
  },
  {
    name: 'a slow store',
    on: 'server',
    apply: ({ line }) => {
      line.delayMs = 700;
    },
    undo: ({ line }) => {
      line.delayMs = 0;
    },
    owed: COPIES,
    isStored: undefined,
    code: 'store-slow',
    skips: STANDS_BY,
  },
  {
    name: 'an own store that is killed',
    on: 'own store',
    apply: ({ gateway }) => eventually(() => killProcess(runningStore(gateway))),
    undo: () => undefined,
    // The gateway starts it again by itself.
    owed: AT_ONCE,
    isStored: true,
  },
  {
    name: 'a full disk',
    on: 'disk',
    apply: ({ disk }) => fill(disk),
    undo: ({ disk }) => rmSync(join(disk, FILLER), { force: true }),
    owed: COPIES,
    // The last block of the file may still take an alarm.
    isStored: undefined,
    code: 'disk-full',
  },
  {
    name: 'a gateway that is stopped',
    on: 'process',
    apply: ({ gateway }) => gateway.stop(),
    undo: ({ gateway }) => gateway.start(),
    owed: AFTER_RESTART,
    isStored: false,
    endsGateway: true,
  },
  {
    name: 'a gateway that is killed',
    on: 'process',
    apply: ({ gateway }) => gateway.kill(),
    undo: ({ gateway }) => gateway.start(),
    owed: AFTER_RESTART,
    isStored: false,
    endsGateway: true,
  },
  {
    name: 'a gateway that is killed with its store',
    on: 'process',
    apply: async ({ gateway }) => {
      const store = storeProcessId(gateway.dataDir);
      const dead = gateway.kill();
      if (store !== undefined) killProcess(store);
      await dead;
    },
    undo: ({ gateway }) => gateway.start(),
    owed: AFTER_RESTART,
    isStored: false,
    endsGateway: true,
  },
  {
    name: 'a durable nurse that vanishes',
    on: 'own store',
    apply: ({ durable }) => durable.vanish(),
    undo: () => undefined,
    owed: { ...AT_ONCE, durable: 'late' },
    isStored: true,
  },
  {
    name: 'a durable nurse that stops reading',
    on: 'own store',
    apply: ({ durable }) => durable.client.freeze(),
    undo: ({ durable }) => durable.client.thaw(),
    owed: { ...AT_ONCE, durable: 'late' },
    isStored: true,
    alarms: BEYOND_THE_WINDOW,
  },
  {
    name: 'a durable nurse that never acknowledges',
    on: 'own store',
    apply: () => undefined,
    undo: () => undefined,
    owed: { ...AT_ONCE, durable: 'late' },
    isStored: true,
    isSilent: true,
    alarms: BEYOND_THE_WINDOW,
  },
  {
    name: 'sensors that vanish',
    on: 'own store',
    apply: ({ sensors }) => {
      for (const sensor of sensors) sensor.vanish();
    },
    undo: () => undefined,
    // They connect again by themselves, and repeat what was not acknowledged.
    owed: AT_ONCE,
    isStored: true,
    losesQos0: true,
  },
  {
    name: 'a clock that jumps ahead, and back',
    on: 'own store',
    apply: ({ gateway }) => gateway.clock.jump(JUMP_MS),
    undo: ({ gateway }) => gateway.clock.jump(-JUMP_MS),
    owed: AT_ONCE,
    isStored: true,
    code: 'clock-jumped',
  },
];

function runningStore({ dataDir }: Gateway): number {
  const processId = storeProcessId(dataDir);
  if (processId === undefined) throw new Error('no store runs');
  return processId;
}

/** Takes all the space that is left. */
function fill(disk: string): void {
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    const chunk = Buffer.alloc(bytes);
    while (isAdded(join(disk, FILLER), chunk));
  }
}

function isAdded(file: string, chunk: Buffer): boolean {
  try {
    writeFileSync(file, chunk, { flag: 'a' });
    return true;
  } catch {
    return false;
  }
}
