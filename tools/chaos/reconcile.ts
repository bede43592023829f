import { Api } from '../../test/former/clients/api.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { type Account, accountOf } from '../../test/former/metrics.js';
import type { Deliveries } from './deliveries.js';
import type { ChaosDevice } from './device.js';

/** A receiver of every alarm. */
export interface ChaosReceiver {
  readonly name: string;
  /** Whether every alarm must arrive, not only those sent while it is connected. */
  readonly isDurable: boolean;
  /** Whether the alarms of a device must come in order; escalations of the same millisecond need not. */
  readonly isOrdered: boolean;
  /** The name in the metrics. */
  readonly consumer: string;
  readonly deliveries: Deliveries;
  /** Connections for which the gateway no longer knew the session. */
  readonly sessionsLost: number;
}

/** A broken promise, and its alarms. */
export interface Violation {
  readonly what: string;
  readonly alarms: readonly string[];
}

export interface Reconciliation {
  readonly violations: readonly Violation[];
  /** Alarms acknowledged but missing in the history or at a durable subscriber. */
  readonly lost: number;
  readonly orderViolations: number;
  /** Alarms recorded twice because the device gave nothing to identify a repetition. */
  readonly untellableRepeats: number;
  /** Alarms that a failover lost before they were acknowledged, and that were forwarded both before and after it. */
  readonly countedTwice: number;
}

/**
 * Checks every id against the history and against each subscriber's deliveries.
 *
 * The gateway's own account of each durable subscriber must match the number of alarms. It may exceed that by the
 * alarms that gateways reported as lost: what the lost store had taken was forwarded, acknowledged or not.
 *
 * @param toldLost how many alarms gateways reported as lost
 */
export async function reconcile(
  gateway: Pick<GatewayProcess, 'httpUrl'>,
  devices: readonly ChaosDevice[],
  subscribers: readonly ChaosReceiver[],
  toldLost = 0,
): Promise<Reconciliation> {
  const api = new Api(gateway);
  const report = new Report();
  let recorded = 0;
  for (const device of devices) {
    const history = await historyOf(api, device);
    for (const times of history.values()) recorded += times;
    compareHistory(report, device, history, subscribers);
    for (const subscriber of subscribers) compareDeliveries(report, device, subscriber);
    report.add('not acknowledged', namesOf(device, unacknowledged(device)));
    report.addOrder('acknowledged out of order', namesOf(device, device.acknowledgedOutOfOrder));
  }
  for (const { name, sessionsLost } of subscribers) {
    if (sessionsLost > 0) report.add(`session of ${name} lost`, [`${sessionsLost} times`]);
  }
  for (const { name, isDurable, consumer } of subscribers) {
    if (!isDurable) continue;
    const account = await accountOf(gateway, consumer);
    const surplus = Math.min(toldLost, Math.max(0, account.accepted - recorded));
    report.countedTwice = Math.max(report.countedTwice, surplus);
    compareAccount(report, name, account, recorded, surplus);
  }
  return report.result();
}

/** Checks contract.md, 4.6: an unbounded backlog must expire nothing and drop only what the store has lost. */
function compareAccount(
  report: Report,
  name: string,
  account: Account,
  recorded: number,
  surplus: number,
): void {
  const { accepted, delivered, queued, expired, dropped } = account;
  const isBalanced = accepted === delivered + queued + expired + dropped;
  if (!isBalanced || accepted !== recorded + surplus || dropped > surplus || expired > 0) {
    report.add(`account of ${name}`, [`${JSON.stringify(account)}, ${recorded} recorded`]);
  }
}

class Report {
  readonly #alarms = new Map<string, string[]>();
  #lost = 0;
  #orderViolations = 0;
  untellableRepeats = 0;
  countedTwice = 0;

  add(what: string, alarms: readonly string[]): void {
    if (alarms.length > 0) this.#alarms.set(what, [...(this.#alarms.get(what) ?? []), ...alarms]);
  }

  addLost(what: string, alarms: readonly string[]): void {
    this.#lost += alarms.length;
    this.add(what, alarms);
  }

  addOrder(what: string, alarms: readonly string[]): void {
    this.#orderViolations += alarms.length;
    this.add(what, alarms);
  }

  result(): Reconciliation {
    return {
      violations: [...this.#alarms].map(([what, alarms]) => ({ what, alarms })),
      lost: this.#lost,
      orderViolations: this.#orderViolations,
      untellableRepeats: this.untellableRepeats,
      countedTwice: this.countedTwice,
    };
  }
}

async function historyOf(api: Api, { device }: ChaosDevice): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { id } of await api.allAlarms(device, '?limit=100')) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

function compareHistory(
  report: Report,
  device: ChaosDevice,
  history: Map<string, number>,
  subscribers: readonly ChaosReceiver[],
): void {
  const missing: number[] = [];
  const repeated: number[] = [];
  for (const [number, alarm] of device.alarms.entries()) {
    let times = 0;
    for (const id of idsOf(device, number, subscribers)) {
      times += history.get(id) ?? 0;
      history.delete(id);
    }
    if (times === 0 && alarm.isAcknowledged) missing.push(number);
    if (times <= 1) continue;
    if (alarm.isAnonymous && !device.isPersistent) report.untellableRepeats += times - 1;
    else repeated.push(number);
  }
  report.addLost('acknowledged and not in the history', namesOf(device, missing));
  report.add('more than once in the history', namesOf(device, repeated));
  report.add('in the history and forwarded to nobody', [...history.keys()]);
}

/** The ids of an alarm, as the device and the receivers know it. */
function idsOf(
  { alarms, device }: ChaosDevice,
  number: number,
  subscribers: readonly ChaosReceiver[],
): Set<string> {
  const ids = new Set<string>();
  const own = alarms[number]?.id;
  if (own !== undefined) ids.add(own);
  for (const { deliveries } of subscribers) {
    for (const id of deliveries.of(device.id).ids[number] ?? []) ids.add(id);
  }
  return ids;
}

function compareDeliveries(report: Report, device: ChaosDevice, subscriber: ChaosReceiver): void {
  const deliveries = subscriber.deliveries.of(device.device.id);
  const { name } = subscriber;
  if (subscriber.isDurable) {
    report.addLost(
      `acknowledged and not at ${name}`,
      namesOf(device, undelivered(device, subscriber)),
    );
  }
  if (subscriber.isOrdered) {
    report.addOrder(`out of order at ${name}`, namesOf(device, deliveries.outOfOrder));
  }
}

/** Numbers of acknowledged alarms that the subscriber has not received at QoS 1. */
export function undelivered(
  { alarms, device }: ChaosDevice,
  { deliveries }: ChaosReceiver,
): number[] {
  const { counts } = deliveries.of(device.id);
  return [...alarms.keys()].filter(
    (number) => alarms[number]?.isAcknowledged === true && (counts[number] ?? 0) === 0,
  );
}

function unacknowledged({ alarms }: ChaosDevice): number[] {
  return [...alarms.keys()].filter((number) => alarms[number]?.isAcknowledged === false);
}

function namesOf({ device, alarms }: ChaosDevice, numbers: readonly number[]): string[] {
  return numbers.map((number) => {
    const { id = '(no id)', publishedMs = 0 } = alarms[number] ?? {};
    const publishedAt = new Date(performance.timeOrigin + publishedMs).toISOString();
    return `${device.id}#${number} ${id} published at ${publishedAt}`;
  });
}
