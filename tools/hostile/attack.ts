import type { IConnectPacket } from 'mqtt-packet';
import type { Connection } from '../../test/harness/load/connection.js';
import type { Login } from '../../test/harness/load/plan.js';
import type { Line } from './field.js';
import type { Site } from './gateway.js';

export type Listener = 'mqtt' | 'http' | 'mqtts' | 'https';

/** What the gateway under attack needs beyond its defaults. */
export interface Needs {
  readonly env?: Readonly<Record<string, string>>;
  /** Limit of open files of gateway and store. */
  readonly maxOpenFiles?: number;
  /** The kind of its certificate; omitted: no TLS. */
  readonly tls?: 'rsa' | 'ecdsa';
  /** Whether a bridge of it connects to the attacker. */
  readonly hasUpstream?: boolean;
}

/** What an attacker starts with: clients of a home of its own, and whatever else the attack has to know. */
export interface Arms {
  readonly devices: readonly Login[];
  readonly tokens: readonly Login[];
  /** Matches everything forwarded from the attacker's home. */
  readonly filter: string;
  readonly texts: Readonly<Record<string, string>>;
}

/** Counts by name. */
export type Counts = Readonly<Record<string, number>>;

/** Something that an attacker does to the gateway, over connections that are opened again whenever they end. */
export interface Attack {
  /** The name for `--only`. */
  readonly name: string;
  /** What the attacker does, for `--list`. */
  readonly what: string;
  /** How many connections at a time. */
  readonly connections: number;
  /** What one connection sends, one chunk as soon as the socket takes it; it is cut at the end. */
  readonly sends: (line: Line, connection: Connection) => AsyncIterable<Buffer | string>;
  /**
   * What becomes of the attacker: its connections are closed, they or its requests are denied, or it is served, at
   * the pace that its budgets allow.
   */
  readonly expects: 'closed' | 'denied' | 'served';
  /** Where it connects; omitted: `mqtt`. */
  readonly to?: Listener;
  /** Whom it logs in as first; omitted: it sends its bytes as a stranger. */
  readonly as?: 'device' | 'token';
  /** Fields of its CONNECT; each connection has a client id of its own. */
  readonly connect?: (line: Line) => Partial<IConnectPacket>;
  /** Whether it waits for the end of a connection after the last bytes, instead of cutting it. */
  readonly holds?: boolean;
  /** Whether it reads nothing. */
  readonly isDeaf?: boolean;
  /** Whether it speaks no TLS to a listener of TLS. */
  readonly isPlain?: boolean;
  /** How long a connection that has ended stays so. */
  readonly retryMs?: number;
  /** How long it lasts at least, where the gateway has more patience than the run. */
  readonly leastSeconds?: number;
  readonly needs?: () => Needs;
  /** From how many addresses of its own network it comes; omitted: from a loopback address. */
  readonly addresses?: number;
  /** Whether the victims' durable subscriber is away meanwhile. */
  readonly isDurableAway?: boolean;
  /** Whether the victims' subscribers also get the alarms of the attacker's home. */
  readonly areSubscribersShared?: boolean;
  /** Whether it stays within every limit or fails at the first check: then no fault need name the attacker. */
  readonly isUnnamed?: boolean;
  /** The devices and tokens that it has. */
  readonly has?: { readonly devices?: number; readonly tokens?: number };
  /** Prepares more than that. Resolves to the texts of its arms. */
  readonly arm?: (site: Site, arms: Arms) => Promise<Readonly<Record<string, string>>>;
  /** Harm beyond that to the ward, after the attack; undefined if there is none. */
  readonly harm?: (site: Site, counts: Counts, seconds: number) => Promise<string | undefined>;
}
