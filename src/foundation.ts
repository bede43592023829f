/** The few things that every part of the gateway needs. */
import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import type { Releasers } from './releasers.js';
import type { SteadyClock } from './site/clock/steady-clock.js';
import type { Health } from './site/health/health.js';
import type { StoreAddress } from './store/open.js';
import type { Tenure } from './store/pair/lease.js';

export interface ExternalStore {
  readonly address: StoreAddress;
  /** The lease that guards every write. */
  readonly tenure: Tenure;
}

export interface GatewayOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly version: string;
  /** The built console (http/files.ts). */
  readonly consoleDirectory: string;
  /** The `PATH` for programs that the gateway runs; they get nothing else from the environment. */
  readonly searchPath: string | undefined;
  /** The version of Node.js, as `process.version`. */
  readonly runtime: string;
  /** How many files the process may open, including sockets. */
  readonly maxOpenFiles: number;
  /** The external store, which outlives a gateway that loses the lease; undefined with the embedded store. */
  readonly store?: ExternalStore | undefined;
  /** Frees the addresses of the listeners. */
  readonly beforeListening?: (() => Promise<void>) | undefined;
  /** The wall clock. */
  readonly now: () => number;
  /** Milliseconds since an arbitrary moment; never jumps. */
  readonly elapsed: () => number;
}

/** The base of every part of the gateway. */
export interface Foundation extends GatewayOptions {
  /** The escalations of the configuration, which a reload changes. */
  readonly escalations: () => Config['escalations'];
  readonly health: Health;
  /** Stops all started parts. */
  readonly releasers: Releasers;
  /** The clock for ages. */
  readonly steady: SteadyClock;
}
