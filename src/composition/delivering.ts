import type { Logger } from 'pino';
import { bridgeOwner } from '../bridge/bridge-queue.js';
import { sessionOwner } from '../broker/admission/authentication.js';
import { RetainedRedis } from '../broker/retained-redis.js';
import {
  AccountReader,
  accountFaults,
  backlogFaults,
  isBalanced,
  waitingFaults,
} from '../delivery/accounts.js';
import { Deliveries } from '../delivery/deliveries.js';
import { Forwarder } from '../delivery/forwarder.js';
import { LiveCopies } from '../delivery/live-copies.js';
import { isAlarm, type NewEntry } from '../delivery/new-entry.js';
import { outletName } from '../delivery/outgoing-queue.js';
import { RetainedMessages } from '../delivery/retained/retained-messages.js';
import { RetainedWriter } from '../delivery/retained/retained-writer.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import { Sessions } from '../delivery/sessions/sessions.js';
import { UPKEEP_INTERVAL_MS, Upkeep } from '../delivery/upkeep.js';
import { Writer } from '../delivery/writer.js';
import { missingBridge } from '../domain/bridge-schema.js';
import { type FaultReport, fault, firstOf } from '../domain/faults/faults.js';
import { mayReceive, type Principal } from '../domain/grants.js';
import { webhookOwner } from '../outputs/webhook.js';
import { repeat } from '../repeat.js';
import { Principals } from '../site/access/principals.js';
import type { Health } from '../site/health/health.js';
import type { Foundation } from './foundation.js';
import type { SiteParts } from './site-loading.js';
import type { Storage } from './storage.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXPIRED_CHECK_MS = 10_000;
const BACKLOG_CHECK_MS = 10_000;
const WAITING_CHECK_MS = 5_000;
const MAX_LOGGED_TOPICS = 10;

/** The writer of the history, and everything that is fed from it. */
export type DeliveryParts = Awaited<ReturnType<typeof openDelivery>>;

/** Opens the delivery: its writer, its sessions, and their upkeep. */
export async function openDelivery(foundation: Foundation, storage: Storage, site: SiteParts) {
  const { log, health, releasers, steady } = foundation;
  const { retained, store: retainedStore } = await openRetained(foundation, storage, site);
  const restoreRetained = () =>
    retainedStore.topics().then(
      (topics) => retained.storeAll(topics),
      (error: unknown) => log.warn({ err: error }, 'failed to restore retained messages'),
    );
  const deliveries = new Deliveries({
    newestEntry: await storage.history.newest(),
    queues: storage.queues,
    mend: (key) => sessions.mend(key),
    log,
    now: steady.now,
    elapsedSinceMs: steady.elapsedSinceMs,
    onLost: (count) => storage.witness.report({ counts: { backlog: count } }),
    onWentBack: (from, to) => {
      storage.witness.report({ alarms: { from, to } });
      void restoreRetained();
      sessions.saveAll();
    },
  });
  const writer = new Writer({
    store: storage.history,
    fed: deliveries,
    log,
    onOutage: (fault) => health.report('history', fault),
    onRefused: (entries) => health.reportAll('history-refused', firstOf(entries, refusedFault)),
    sendLive: (alarm) => liveCopies.send(alarm, new Set()),
  });
  const accounts = new AccountReader(deliveries, storage.queues);
  const sessions = await openSessions({ deliveries, accounts, writer }, foundation, storage, site);
  const liveCopies = new LiveCopies(writer, deliveries);
  liveCopies.start();
  releasers.add(() => {
    liveCopies.stop();
    writer.stop();
  });
  releasers.every(BACKLOG_CHECK_MS, () => {
    health.reportAll('backlogs', backlogFaults(deliveries.consumers));
  });
  const checkWaiting = async () => {
    const faults = await waitingFaults(deliveries.consumers, steady.now(), steady.wallTimeOf);
    if (faults !== undefined) health.reportAll('alarms-waiting', faults);
  };
  releasers.add(repeat(checkWaiting, WAITING_CHECK_MS));
  const forwarder = new Forwarder(deliveries, writer, retained);
  return { deliveries, sessions, accounts, writer, forwarder, retained };
}

/** The fault of a device whose alarms the store refuses. */
function refusedFault(entry: NewEntry): FaultReport {
  const refused = fault('storeRefusesDevice');
  if (!isAlarm(entry)) return refused;
  const { id, name } = entry.context.device;
  return { ...refused, subject: { type: 'device', id, name } };
}

/** Reads the retained messages, and removes those of devices that are gone or have moved. */
async function openRetained(
  { config, health, log, releasers, steady }: Foundation,
  { broker, retainedTopics, headroom, witness }: Storage,
  { model, principalLimits, watch }: SiteParts,
): Promise<{ readonly retained: RetainedMessages; readonly store: RetainedRedis }> {
  const unreadable: string[] = [];
  const store = new RetainedRedis(broker, retainedTopics, (topic) => unreadable.push(topic));
  const writer = new RetainedWriter(store, headroom, log);
  releasers.add(() => writer.stop());
  const { location, total } = config.limits;
  const retained = new RetainedMessages({
    writer,
    quotasOfDevice: principalLimits.ofDevice,
    quotasOfLocation: location,
    maxBytes: total.retainedBytes,
    watch,
    health,
  });
  await retained.load(store.load(await store.topics()));
  const removeExpired = () => retained.removeExpired(steady.now());
  removeExpired();
  releasers.every(EXPIRED_CHECK_MS, removeExpired);
  if (unreadable.length > 0) {
    const topics = unreadable.slice(0, MAX_LOGGED_TOPICS);
    log.error({ count: unreadable.length, topics }, 'failed to read retained messages, left out');
  }
  // A killed gateway may have moved or deleted a device without removing these.
  retained.removeStray((deviceId, locationId) => {
    const device = model.device(deviceId);
    // Somebody may restore an unreadable or lost record.
    if (device === undefined)
      return !witness.hasLostPrincipals && !model.isUnreadable(`device:${deviceId}`);
    return locationId !== device.locationId;
  });
  return { retained, store };
}

/** Loads the sessions and counts their backlogs. Nothing may be appended before. */
async function openSessions(
  { deliveries, accounts, writer }: Pick<DeliveryParts, 'deliveries' | 'accounts' | 'writer'>,
  foundation: Foundation,
  storage: Storage,
  site: SiteParts,
): Promise<Sessions> {
  const { config, log, health, releasers, steady } = foundation;
  const sessions = new Sessions({
    store: storage.sessions,
    deliveries,
    log,
    ownerOf: ownersOf(foundation, storage, site),
    limits: {
      maxInFlight: config.mqtt.maxInFlight,
      maxQueued: config.sessions.maxQueuedMessages,
      maxQueuedBytes: config.sessions.maxQueuedBytes,
      maxAgeMs: config.sessions.maxQueuedHours * HOUR_MS,
    },
    forgetAfterMs: config.sessions.forgetAfterDays * DAY_MS,
    now: steady.now,
  });
  reportUnreadable(await sessions.start(), health, log);
  await accounts.read();
  releasers.add(() => sessions.stop());
  storage.startRetention();
  const mendBroken = (): void => {
    for (const { key, accounts: account } of deliveries.consumers) {
      if (key === undefined || isBalanced(account.alarms)) continue;
      sessions.mend(key).catch((err: unknown) => {
        log.warn({ session: key, err }, 'failed to store a session');
      });
    }
  };
  const onAccounts = () => {
    health.reportAll('accounts', accountFaults(deliveries.consumers, mendBroken));
  };
  const upkeep = new Upkeep({
    deliveries,
    sessions,
    accounts,
    newestEntry: () => storage.history.newest(),
    onWentBack: () => writer.check(),
    onAccounts,
    log,
  });
  releasers.add(repeat(() => upkeep.run(), UPKEEP_INTERVAL_MS));
  return sessions;
}

/** Finds the owner of a stored session: a bridge, a webhook, or a principal, even one with an unreadable record. */
function ownersOf(
  { config }: Foundation,
  { witness }: Storage,
  { model, accessTokens }: SiteParts,
) {
  const principals = new Principals(model, accessTokens);
  const bridgeOwnerOf = (key: string): SessionOwner | undefined => {
    const name = outletName('bridge', key);
    const configured = config.bridges.find((bridge) => bridge.name === name);
    return name === undefined ? undefined : bridgeOwner(configured ?? missingBridge(name));
  };
  // The queue of a webhook missing from the configuration stays until it is forgotten like any session.
  const webhookOwnerOf = (key: string): SessionOwner | undefined => {
    const name = outletName('webhook', key);
    if (name === undefined) return undefined;
    return webhookOwner(
      name,
      config.outputs.find((output) => output.name === name),
    );
  };
  const isHeld = (key: string) => witness.hasLostPrincipals || model.isUnreadable(key);
  return (key: string): SessionOwner | undefined => {
    const owner = bridgeOwnerOf(key) ?? webhookOwnerOf(key) ?? ownerOf(principals.byKey(key));
    return owner ?? (isHeld(key) ? heldOwner(key, principals) : undefined);
  };
}

function ownerOf(principal: Principal | undefined): SessionOwner | undefined {
  return principal && sessionOwner(principal);
}

/**
 * The owner of a session whose device or token has an unreadable or lost record.
 *
 * This must not discard the session with its backlog: somebody may restore the record. Until then no credential
 * can connect to it.
 */
function heldOwner(key: string, principals: Principals): SessionOwner {
  return {
    key,
    mayReceive: (audience) => {
      const restored = principals.byKey(key);
      return restored === undefined || mayReceive(restored, audience);
    },
  };
}

function reportUnreadable(clientIds: readonly string[], health: Health, log: Logger): void {
  if (clientIds.length === 0) return;
  log.error({ clientIds }, 'failed to read stored sessions');
  const faults = firstOf(clientIds, (id) => {
    return { ...fault('sessionUnreadable'), subject: { type: 'session', id, name: id } };
  });
  health.reportAll('sessions', faults);
}
