/**
 * The account that a home keeps of its alarms: which were acknowledged, what each destination got, in which order,
 * and which repeats are allowed. Tests, chaos and the attacks compare the gateway with it.
 *
 * It is the only place that knows live copies: an alarm at QoS 0 ahead of its record, while the store is slow
 * (contract 4.4). No test tells them apart itself.
 */
import { z } from 'zod';
import type { Received } from './mqtt.js';
import { eventually, WAIT_MS } from './wait.js';

/** An alarm that a sensor of the home has published. */
export interface SentAlarm {
  readonly deviceId: string;
  /** Its number among the device's alarms. */
  readonly n: number;
  readonly kind: string;
  /** Undefined where the sensor left it to the gateway. */
  readonly id: string | undefined;
  /** Whether it must be acknowledged: published at QoS 1 or 2. */
  readonly isOwed: boolean;
  /** By `performance.now()`. */
  readonly atMs: number;
  readonly isAcknowledged: boolean;
  /** Whether a repetition can be told from a new alarm: it has an id or a time of its own. */
  readonly isTellable: boolean;
}

interface Delivery {
  readonly n: number;
  readonly id: string;
  readonly isRecord: boolean;
  readonly dup: boolean;
  readonly atMs: number;
}

/** What faults may have done to an honest gateway. */
export interface Allowances {
  /** Records may come again without DUP: a gateway that was killed, or a webhook, repeats what it had just sent. */
  readonly mayRepeat?: boolean;
  /** Whether live (clean) subscribers may miss alarms: they were cut off, or the gateway was. */
  readonly liveMayMiss?: boolean;
  /** Alarms that a failover has lost: the gateway says so, and their order and accounts are excused. */
  readonly lost?: number;
  readonly timeoutMs?: number;
}

/** A broken promise, and the alarms that show it. */
export interface Violation {
  readonly what: string;
  readonly alarms: readonly string[];
}

/** What the gateway itself says about the alarms, asked over HTTP. */
export interface GatewayAccount {
  /** The ids of a device's alarms in the history. */
  history(deviceId: string): Promise<readonly string[]>;
  /** The figures of a durable destination; undefined if `/metrics` has none. */
  account(destination: string): Promise<Account | undefined>;
}

export interface Account {
  readonly accepted: number;
  readonly delivered: number;
  readonly queued: number;
  readonly expired: number;
  readonly dropped: number;
}

const alarmSchema = z.object({
  id: z.string(),
  device: z.object({ id: z.string() }),
  data: z.object({ n: z.number() }),
});

/** A receiver of alarms: a session, a live subscriber, a bridge's upstream, a webhook, an event stream. */
export class Destination {
  readonly name: string;
  readonly isDurable: boolean;
  /** Whether `/metrics` has its account under its name. */
  readonly hasAccount: boolean;
  readonly #ledger: Ledger;
  readonly #filters = new Map<string, number>();
  readonly #owedUntil: { readonly filter: string; readonly from: number; readonly to: number }[] =
    [];
  readonly #byDevice = new Map<string, Delivery[]>();
  /** The numbers of each device's alarms that have come at all, and as records. */
  readonly #seen = new Map<string, { readonly any: Set<number>; readonly records: Set<number> }>();

  constructor(ledger: Ledger, name: string, isDurable: boolean, hasAccount: boolean) {
    this.#ledger = ledger;
    this.name = name;
    this.isDurable = isDurable;
    this.hasAccount = hasAccount;
  }

  /** From now on, alarms on topics that match are owed to it. */
  subscribed(filters: readonly string[]): void {
    for (const filter of filters) {
      if (!this.#filters.has(filter)) this.#filters.set(filter, this.#ledger.count);
    }
  }

  unsubscribed(filters: readonly string[]): void {
    for (const filter of filters) {
      const from = this.#filters.get(filter);
      this.#filters.delete(filter);
      if (from !== undefined) this.#owedUntil.push({ filter, from, to: this.#ledger.count });
    }
  }

  /** Notes a message; other messages than the alarms of the home's sensors are ignored. */
  received({ topic, text, qos, dup, retain, atMs }: Omit<Received, 'packet'>): void {
    if (retain || !topic.includes('/alarms/')) return;
    const alarm = alarmSchema.safeParse(JSON.parse(text)).data;
    if (alarm === undefined) return;
    const deliveries = this.#byDevice.get(alarm.device.id) ?? [];
    this.#byDevice.set(alarm.device.id, deliveries);
    deliveries.push({ n: alarm.data.n, id: alarm.id, isRecord: qos > 0, dup, atMs });
    const seen = this.#seen.get(alarm.device.id) ?? { any: new Set(), records: new Set() };
    this.#seen.set(alarm.device.id, seen);
    seen.any.add(alarm.data.n);
    if (qos > 0) seen.records.add(alarm.data.n);
  }

  /** Whether the alarm has come, as a live copy or a record. */
  has({ deviceId, n }: SentAlarm): boolean {
    return this.#seen.get(deviceId)?.any.has(n) ?? false;
  }

  /** Whether the alarm has come as a record. */
  hasRecord({ deviceId, n }: SentAlarm): boolean {
    return this.#seen.get(deviceId)?.records.has(n) ?? false;
  }

  /** Milliseconds from the publish to the first arrival. */
  latencyMs({ deviceId, n, atMs }: SentAlarm): number | undefined {
    const first = this.of(deviceId).find((delivery) => delivery.n === n);
    return first && first.atMs - atMs;
  }

  of(deviceId: string): readonly Delivery[] {
    return this.#byDevice.get(deviceId) ?? [];
  }

  get count(): number {
    return [...this.#byDevice.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Whether its subscriptions cover the alarm. */
  isOwed(alarm: SentAlarm, index: number): boolean {
    for (const [filter, from] of this.#filters) {
      if (index >= from && covers(filter, alarm)) return true;
    }
    return this.#owedUntil.some(
      ({ filter, from, to }) => index >= from && index < to && covers(filter, alarm),
    );
  }
}

export class Ledger {
  readonly #alarms: (SentAlarm & { isAcknowledged: boolean })[] = [];
  readonly #byDevice = new Map<string, (SentAlarm & { isAcknowledged: boolean })[]>();
  readonly #destinations: Destination[] = [];
  readonly #violations: Violation[] = [];
  readonly #lastAcknowledged = new Map<string, number>();
  /** Records of alarms beyond the first that nothing told from new alarms, at the last comparison. */
  untellableRepeats = 0;

  /** How many alarms were published. */
  get count(): number {
    return this.#alarms.length;
  }

  get acknowledgedCount(): number {
    return this.#alarms.filter(({ isAcknowledged }) => isAcknowledged).length;
  }

  get destinations(): readonly Destination[] {
    return this.#destinations;
  }

  get alarms(): readonly SentAlarm[] {
    return this.#alarms;
  }

  /** Notes an alarm at the moment of its publish. */
  sent(
    alarmSent: Pick<SentAlarm, 'deviceId' | 'n' | 'kind' | 'id' | 'isOwed' | 'isTellable'>,
  ): SentAlarm {
    const alarm = { ...alarmSent, atMs: performance.now(), isAcknowledged: false };
    const { deviceId, n } = alarm;
    this.#alarms.push(alarm);
    const ofDevice = this.#byDevice.get(deviceId) ?? [];
    this.#byDevice.set(deviceId, ofDevice);
    ofDevice[n] = alarm;
    return alarm;
  }

  /** Notes a PUBACK or PUBCOMP. */
  acknowledged({ deviceId, n }: SentAlarm): void {
    const alarm = this.#byDevice.get(deviceId)?.[n];
    if (alarm === undefined || alarm.isAcknowledged) return;
    alarm.isAcknowledged = true;
    const last = this.#lastAcknowledged.get(deviceId) ?? -1;
    if (n < last)
      this.#violations.push({ what: 'acknowledged out of order', alarms: [nameOf(alarm)] });
    this.#lastAcknowledged.set(deviceId, Math.max(last, n));
  }

  /** A receiver of alarms, whose deliveries are compared from now on. */
  destination(name: string, isDurable: boolean, hasAccount = isDurable): Destination {
    const known = this.#destinations.find((one) => one.name === name);
    if (known !== undefined) return known;
    const destination = new Destination(this, name, isDurable, hasAccount);
    this.#destinations.push(destination);
    return destination;
  }

  /** Notes that a client could not go on; `settled` fails with it. */
  fail(error: unknown): void {
    this.#violations.push({ what: String(error), alarms: [] });
  }

  /** What is not there yet: empty once everything acknowledged has arrived at every durable destination. */
  missing(allowances: Allowances = {}): Violation[] {
    const isMissing = (alarm: SentAlarm, index: number, destination: Destination) =>
      destination.isOwed(alarm, index) &&
      !(destination.isDurable ? destination.hasRecord(alarm) : destination.has(alarm));
    const open = this.#alarms.filter((alarm) => alarm.isOwed && !alarm.isAcknowledged);
    const violations = [{ what: 'not acknowledged', alarms: open.map(nameOf) }];
    for (const destination of this.#destinations) {
      if (!destination.isDurable && allowances.liveMayMiss === true) continue;
      const missing = this.#alarms.filter(
        (alarm, index) => alarm.isAcknowledged && isMissing(alarm, index, destination),
      );
      violations.push({ what: `not at ${destination.name}`, alarms: missing.map(nameOf) });
    }
    return violations.filter(({ alarms }) => alarms.length > 0);
  }

  /** What should not have happened: wrong order, repeats that nothing excuses, alarms that nobody sent. */
  wrong(allowances: Allowances = {}): Violation[] {
    const violations = [...this.#violations];
    for (const destination of this.#destinations) {
      for (const [deviceId, alarms] of this.#byDevice) {
        violations.push(...wrongIn(destination, deviceId, alarms, allowances));
      }
    }
    return violations;
  }

  /**
   * Waits until everything acknowledged has arrived, then compares order, repeats, the history and the accounts.
   *
   * @throws Error with every violation and its alarms
   */
  async settled(gateway: GatewayAccount, allowances: Allowances = {}): Promise<void> {
    await eventually(() => {
      requireNone(this.missing(allowances));
    }, allowances.timeoutMs ?? WAIT_MS);
    requireNone(this.wrong(allowances));
    // The last PUBACKs of the destinations may still be on their way.
    await eventually(async () => {
      requireNone(await this.differences(gateway, allowances));
    }, allowances.timeoutMs ?? WAIT_MS);
  }

  #numbersOf(deviceId: string, alarms: readonly (SentAlarm | undefined)[]) {
    const numbers = new Map<string, number>();
    for (const alarm of alarms) if (alarm?.id !== undefined) numbers.set(alarm.id, alarm.n);
    for (const destination of this.#destinations) {
      for (const { id, n } of destination.of(deviceId)) numbers.set(id, n);
    }
    return { alarms, numbers };
  }

  /** How the gateway's own history and accounts differ from what was published. */
  async differences(gateway: GatewayAccount, { lost = 0 }: Allowances = {}): Promise<Violation[]> {
    const violations: Violation[] = [];
    let recorded = 0;
    this.untellableRepeats = 0;
    for (const [deviceId, alarms] of this.#byDevice) {
      const history = await gateway.history(deviceId);
      recorded += history.length;
      const found = differencesOf(history, this.#numbersOf(deviceId, alarms));
      violations.push(...found.violations);
      this.untellableRepeats += found.untellable;
    }
    const surplus = lost + this.untellableRepeats;
    for (const destination of this.#destinations) {
      if (!destination.hasAccount) continue;
      const account = await gateway.account(destination.name);
      const owed = this.#alarms.filter((alarm, index) => destination.isOwed(alarm, index)).length;
      const fault = account && accountFault(account, Math.min(owed, recorded), surplus, lost);
      if (fault !== undefined)
        violations.push({ what: `account of ${destination.name}`, alarms: [fault] });
    }
    return violations.filter(({ alarms }) => alarms.length > 0);
  }
}

/** What is wrong in a destination's deliveries of one device. */
function wrongIn(
  destination: Destination,
  deviceId: string,
  alarms: readonly (SentAlarm | undefined)[],
  { mayRepeat = false, lost = 0 }: Allowances,
): Violation[] {
  const [unknown, repeated, late]: [string[], string[], string[]] = [[], [], []];
  const came = new Set<number>();
  let newest = -1;
  for (const { n, isRecord, dup } of destination.of(deviceId)) {
    const name = `${deviceId}#${n}`;
    if (alarms[n] === undefined) unknown.push(name);
    if (!isRecord) continue;
    if (came.has(n) && !dup && !mayRepeat) repeated.push(name);
    if (!came.has(n) && n < newest) late.push(name);
    came.add(n);
    newest = Math.max(newest, n);
  }
  return [
    { what: `sent by nobody and at ${destination.name}`, alarms: unknown },
    { what: `repeated at ${destination.name}`, alarms: repeated },
    { what: `out of order at ${destination.name}`, alarms: lost > 0 ? [] : late },
  ].filter((violation) => violation.alarms.length > 0);
}

/**
 * Contract 4.6: nothing has expired, and nothing but what a failover lost was dropped.
 *
 * @param maxMore how many alarms may be counted twice: forwarded before and after a failover that lost them, or
 *   recorded twice because nothing told the repetition from a new alarm
 */
function accountFault(
  account: Account,
  owed: number,
  maxMore: number,
  lost: number,
): string | undefined {
  const { accepted, delivered, queued, expired, dropped } = account;
  const isBalanced = accepted === delivered + queued + expired + dropped;
  const isRight = accepted >= owed && accepted <= owed + maxMore && dropped <= lost;
  if (isBalanced && isRight && queued === 0 && expired === 0) return undefined;
  return `${JSON.stringify(account)}; ${owed} are its own`;
}

/** @param numbers of the device's alarms by id, as its sensor and the destinations know them */
function differencesOf(
  history: readonly string[],
  { alarms, numbers }: { alarms: readonly (SentAlarm | undefined)[]; numbers: Map<string, number> },
): { readonly violations: Violation[]; readonly untellable: number } {
  const times = new Map<number, number>();
  const foreign: string[] = [];
  for (const id of history) {
    const n = numbers.get(id);
    if (n === undefined) foreign.push(id);
    else times.set(n, (times.get(n) ?? 0) + 1);
  }
  const missing: string[] = [];
  const repeated: string[] = [];
  let untellable = 0;
  for (const alarm of alarms) {
    if (alarm === undefined) continue;
    const count = times.get(alarm.n) ?? 0;
    // Without an id of its own, and forwarded to nobody, it cannot be recognized.
    const isKnown = alarm.id !== undefined || count > 0;
    if (count === 0 && alarm.isAcknowledged && isKnown) missing.push(nameOf(alarm));
    if (count > 1 && alarm.isTellable) repeated.push(nameOf(alarm));
    else untellable += Math.max(0, count - 1);
  }
  const violations = [
    { what: 'acknowledged and not in the history', alarms: missing },
    { what: 'more than once in the history', alarms: repeated },
    { what: 'in the history and sent by nobody', alarms: foreign },
  ];
  return { violations, untellable };
}

/** Whether the filter matches the alarm's topic; the ledger is of one location. */
function covers(filter: string, { deviceId, kind }: SentAlarm): boolean {
  const levels = filter.replace(/^\$share\/[^/]+\//, '').split('/');
  const topic = ['care-homes', levels[1], 'devices', deviceId, 'alarms', kind];
  for (const [index, level] of levels.entries()) {
    if (level === '#') return true;
    if (level !== '+' && level !== topic[index]) return false;
  }
  return levels.length === topic.length;
}

function nameOf({ deviceId, n, id }: SentAlarm): string {
  return `${deviceId}#${n}${id === undefined ? '' : ` ${id}`}`;
}

function requireNone(violations: readonly Violation[]): void {
  if (violations.length === 0) return;
  const texts = violations.map(({ what, alarms }) => {
    const shown = alarms.slice(0, 10).join(', ');
    return `${what}: ${alarms.length} (${shown})`;
  });
  throw new Error(texts.join('\n'));
}
