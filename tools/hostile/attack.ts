import type { Field } from './attacker/field.js';
import type { Arms } from './attacker/plan.js';
import type { Site } from './site.js';

/** The entry point of the attack; it decides how late an alarm may be meanwhile. */
export type Surface = 'mqtt' | 'http' | 'tls';

/** What the gateway under attack needs beyond its defaults. */
export interface GatewayNeeds {
  readonly environment?: Readonly<Record<string, string>>;
  /** Limit of open files of gateway and store. */
  readonly maxOpenFiles?: number;
  /** The kind of its certificate; omitted: no TLS. */
  readonly tls?: 'rsa' | 'ecdsa';
  /** A port of the attacker to which a bridge of the gateway connects. */
  readonly upstreamPort?: number;
}

/** Something that an attacker, with or without a credential of a home, does to the gateway. */
export interface Attack {
  /** The name for `--only`. */
  readonly name: string;
  /** The finding (FINDINGS S1 to S15) that it repeats; left out: it repeats none. */
  readonly finding?: string;
  readonly surface: Surface;
  /** What the attacker does, for the table. */
  readonly what: string;
  readonly needs?: () => GatewayNeeds | Promise<GatewayNeeds>;
  /** Whether Mosquitto can be attacked in the same way. */
  readonly isForMosquitto: boolean;
  /** Omitted: one. */
  readonly processes?: number;
  /** From how many addresses of its own network it comes; omitted: from a loopback address. */
  readonly addresses?: number;
  /** Whether the durable subscriber of the victims is away meanwhile. */
  readonly isDurableAway?: boolean;
  /** Whether the victims' subscribers also get the alarms of the attacker's home. */
  readonly areSubscribersShared?: boolean;
  /** Whether it is within every limit or fails at the first check: then no fault need name the attacker. */
  readonly isUnnamed?: boolean;
  /** Prepares what the attacker starts with. */
  readonly arm: (site: Site) => Promise<Arms>;
  /** Attacks until the field is over, in the attacker's process. */
  readonly run: (field: Field) => Promise<void>;
  /** Harm beyond that to the ward, after the attack; undefined if there is none. */
  readonly harm?: (site: Site, counts: Counts, seconds: number) => Promise<string | undefined>;
}

/** What the attacker has counted, by name. */
export type Counts = Readonly<Record<string, number>>;
