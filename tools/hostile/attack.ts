import type { Field } from './attacker/field.js';
import type { Arms } from './attacker/plan.js';
import type { Site } from './site.js';

/** What the attack goes through; it decides how late an alarm may be meanwhile. */
export type Surface = 'mqtt' | 'http' | 'tls';

/** What the gateway under attack is started with, beyond its defaults. */
export interface GatewayNeeds {
  readonly environment?: Readonly<Record<string, string>>;
  /** Limit of open files of gateway and store. */
  readonly maxOpenFiles?: number;
  /** The kind of its certificate; left out: no TLS. */
  readonly tls?: 'rsa' | 'ecdsa';
  /** A port of the attacker's that a bridge of the gateway connects to. */
  readonly upstreamPort?: number;
}

/** Something that a stranger, or one with a credential of a home, does to the gateway. */
export interface Attack {
  /** As `--only` names it. */
  readonly name: string;
  /** The finding (FINDINGS S1 to S15) that it repeats; left out: it repeats none. */
  readonly finding?: string;
  readonly surface: Surface;
  /** What the attacker does, for the table. */
  readonly what: string;
  readonly needs?: () => GatewayNeeds | Promise<GatewayNeeds>;
  /** Whether Mosquitto can be attacked in the same way. */
  readonly isForMosquitto: boolean;
  /** Left out: one. */
  readonly processes?: number;
  /** How many addresses of a network of its own it comes from; left out: a loopback address. */
  readonly addresses?: number;
  /** Whether the durable subscriber of the victims is away meanwhile. */
  readonly isDurableAway?: boolean;
  /** Whether the victims' subscribers also get the alarms of the attacker's home. */
  readonly areSubscribersShared?: boolean;
  /** Whether it is within every limit, or ends at the first check: then nobody need be named. */
  readonly isUnnamed?: boolean;
  /** Prepares what the attacker starts out with. */
  readonly arm: (site: Site) => Promise<Arms>;
  /** Attacks until the field is over; runs in the attacker's process. */
  readonly run: (field: Field) => Promise<void>;
  /** Harm beyond that to the ward, once the attack is over; undefined when there is none. */
  readonly harm?: (site: Site, counts: Counts, seconds: number) => Promise<string | undefined>;
}

/** What the attacker has counted, by name. */
export type Counts = Readonly<Record<string, number>>;
