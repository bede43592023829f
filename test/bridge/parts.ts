import { afterAll } from 'vitest';
import type { BridgeServices } from '../../src/bridge/bridge.js';
import { Bridges } from '../../src/bridge/bridges.js';
import { HANG_UP_LIMITS, type HangUpLimits } from '../../src/bridge/hang-ups.js';
import type { CommandSink } from '../../src/bridge/inbound.js';
import { Deliveries } from '../../src/delivery/deliveries.js';
import { itemOf } from '../../src/delivery/log/log-entry.js';
import { AccountReader } from '../../src/delivery/queues/account-reader.js';
import type { QueueStore } from '../../src/delivery/queues/queue-store.js';
import type { SessionStore } from '../../src/delivery/sessions/session-store.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import type { BridgeOptions } from '../../src/domain/bridge-schema.js';
import type { RateLimits } from '../../src/domain/limits.js';
import { createLog } from '../../src/logging/log.js';
import type { BridgeStatus, DeadLetter, DeadLetterStore } from '../../src/site/bridge-list.js';
import { Health } from '../../src/site/health/health.js';
import { QueuesInMemory } from '../delivery/queues-in-memory.js';
import { type Script, ScriptedUpstream } from './upstream/scripted-upstream.js';

export interface PartsOptions {
  readonly store?: Partial<SessionStore>;
  readonly deadLetters?: Partial<DeadLetterStore>;
  readonly accept?: CommandSink['accept'];
  readonly oldestReceivedAtMs?: QueueStore['oldestReceivedAtMs'];
  readonly hangUpLimits?: Partial<HangUpLimits>;
  readonly commandLimits?: Partial<RateLimits>;
}

/** Bridges and their queues in this process, with a store and upstream under the test's control. */
export class Parts {
  readonly queues = new QueuesInMemory();
  readonly sessions: Sessions;
  readonly bridges: Bridges;
  readonly services: BridgeServices;
  readonly health = new Health();
  readonly deadLetters: DeadLetter[] = [];
  /** Lines of the log. */
  readonly lines: string[] = [];
  readonly accounts: AccountReader;
  readonly #deliveries: Deliveries;
  #last = 0;

  constructor(options: PartsOptions = {}) {
    const { queues } = this;
    const { oldestReceivedAtMs = queues.oldestReceivedAtMs } = options;
    const store = Object.assign(queues, options.store, { oldestReceivedAtMs });
    const log = createLog({
      level: 'info',
      destination: { write: (line) => this.lines.push(line) },
    });
    this.#deliveries = new Deliveries({
      newestAlarm: 0,
      onLost: () => undefined,
      onBehind: () => undefined,
      onWentBack: () => undefined,
      mend: (key) => this.sessions.mend(key),
      queues,
      log,
      now: Date.now,
      elapsedSinceMs: (timeMs) => Date.now() - timeMs,
    });
    this.sessions = new Sessions({
      store,
      deliveries: this.#deliveries,
      ownerOf: () => undefined,
      limits: { maxInFlight: 10, maxQueued: 1_000, maxQueuedBytes: 1_000_000, maxAgeMs: 1e12 },
      forgetAfterMs: 1e12,
      log,
      now: Date.now,
    });
    this.accounts = new AccountReader(this.#deliveries, queues);
    this.services = {
      installation: 'test',
      sessions: this.sessions,
      accounts: this.accounts,
      forwarder: { announce: () => Promise.resolve() },
      retained: { remove: () => undefined },
      health: this.health,
      deadLetters: {
        add: (_bridge, message) => {
          this.deadLetters.push(message);
          return Promise.resolve();
        },
        list: () => Promise.resolve([]),
        oldest: () => Promise.resolve(undefined),
        clear: () => Promise.resolve(),
        ...options.deadLetters,
      },
      audit: { record: () => Promise.resolve() },
      commands: { accept: options.accept ?? (() => Promise.resolve()) },
      maxPacketBytes: 10_000,
      commandLimits: {
        messagesPerSecond: 1_000,
        messageBurst: 1_000,
        bytesPerSecond: 1_000_000,
        byteBurst: 1_000_000,
        ...options.commandLimits,
      },
      hangUpLimits: { ...HANG_UP_LIMITS, ...options.hangUpLimits },
      log,
      now: Date.now,
      steadyNow: Date.now,
      wallTimeOf: (steadyMs) => steadyMs,
    };
    this.bridges = new Bridges(this.services);
    this.bridges.connect();
  }

  /** Stores an alarm of this device: every bridge that sends alarms must receive it. */
  async alarm(device: string, payload?: string, receivedAtMs = Date.now()): Promise<void> {
    const sequence = ++this.#last;
    const topic = `care-homes/home/devices/${device}/alarms/fall`;
    const sent = { topic, receivedAtMs, locationId: null, groupId: null };
    const bytes = Buffer.from(payload ?? `{"n":${sequence}}`);
    const item = itemOf(sequence, 0);
    const entry = { ...sent, log: 'alarms' as const, sequence, item, payload: bytes };
    const destinations = this.#deliveries.destinationsOf('alarms', sent);
    const keys = destinations.map(({ key }) => key);
    this.queues.push(entry, keys);
    this.#deliveries.announce([{ entry, isNew: true, destinations }]);
    this.#deliveries.noteBacklogs(
      new Map(keys.map((key) => [key, this.queues.backlogOf(key)] as const)),
    );
    await Promise.resolve();
  }

  async status(): Promise<BridgeStatus> {
    const [status] = await this.bridges.statuses();
    if (status === undefined) throw new Error('there is no bridge');
    return status;
  }

  async stop(): Promise<void> {
    await this.bridges.stop();
    await this.sessions.stop();
  }
}

/** A bridge's options with these keys. */
export function configured(keys: Partial<BridgeOptions> = {}): BridgeOptions {
  return {
    name: 'region',
    url: 'mqtt://127.0.0.1:1',
    keepAliveSeconds: 30,
    topic: '{topic}',
    qos: 1,
    retain: false,
    maxInFlight: 10,
    maxQueuedMessages: 1_000,
    maxQueuedBytes: 1_000_000,
    maxQueuedHours: 1,
    replayPerSecond: 1_000,
    ackTimeoutSeconds: 5,
    commands: [],
    send: 'all',
    ...keys,
  };
}

/** Stops the parts of a file's tests after all of them have run: tests may run concurrently. */
export function useParts() {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return {
    parts(options?: PartsOptions): Parts {
      const parts = new Parts(options);
      ends.push(() => parts.stop());
      return parts;
    },
    async upstream(script?: Script): Promise<ScriptedUpstream> {
      const upstream = await ScriptedUpstream.start(script);
      ends.push(() => upstream.remove());
      return upstream;
    },
  };
}
