/** Opens the delivery: the writer of the history, retained messages, sessions, and what watches over their queues. */

import type { Logger } from 'pino';
import { type FaultReport, fault } from '../domain/fault.js';
import type { Foundation } from '../foundation.js';
import { repeat } from '../releasers.js';
import type { Health } from '../site/health/health.js';
import type { SiteParts } from '../site/open.js';
import type { Storage } from '../store/open.js';
import {
  AccountReader,
  accountFaults,
  backlogFaults,
  isBalanced,
  waitingFaults,
} from './accounts.js';
import { Forwarder } from './forwarder.js';
import { LiveCopies } from './live-copies.js';
import { isAlarm, type NewEntry } from './new-entry.js';
import { RETAINED_RETRY_MS, RetainedMessages } from './retained.js';
import { Router } from './router.js';
import type { SessionOwner } from './sessions/session.js';
import { Sessions } from './sessions/sessions.js';
import { UPKEEP_INTERVAL_MS, Upkeep } from './upkeep.js';
import { Writer } from './writer.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXPIRED_CHECK_MS = 10_000;
const BACKLOG_CHECK_MS = 10_000;
const WAITING_CHECK_MS = 5_000;
const MAX_LOGGED_TOPICS = 10;

/** The writer of the history, and everything that is fed from it. */
export type DeliveryParts = Awaited<ReturnType<typeof openDelivery>>;

/**
 * Opens the delivery: its writer, its sessions, and their upkeep.
 *
 * @param ownerOf the owner of a stored session; undefined: it is discarded
 */
export async function openDelivery(
  foundation: Foundation,
  storage: Storage,
  site: SiteParts,
  ownerOf: (key: string) => SessionOwner | undefined,
) {
  const { log, health, releasers, steady } = foundation;
  const retained = await openRetained(foundation, storage, site);
  const restoreRetained = () =>
    storage.retained.topics().then(
      (topics) => retained.storeAll(topics),
      (error: unknown) => log.warn({ err: error }, 'failed to restore retained messages'),
    );
  const router = new Router({
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
    router,
    log,
    onOutage: (fault) => health.report('history', fault),
    onRefused: (entries) => health.replace('history-refused', entries.map(refusedFault)),
    sendLive: (alarm, sentTo) => liveCopies.send(alarm, sentTo),
  });
  const accounts = new AccountReader(router, storage.queues);
  const sessions = await openSessions({ router, accounts, writer }, foundation, storage, ownerOf);
  const liveCopies = new LiveCopies(writer, router);
  liveCopies.start();
  releasers.add(() => {
    liveCopies.stop();
    writer.stop();
  });
  releasers.every(BACKLOG_CHECK_MS, () => {
    health.replace('backlogs', backlogFaults(router.consumers));
  });
  const checkWaiting = async () => {
    const faults = await waitingFaults(router.consumers, steady.now(), steady.wallTimeOf);
    if (faults !== undefined) health.replace('alarms-waiting', faults);
  };
  releasers.add(repeat(checkWaiting, WAITING_CHECK_MS));
  const forwarder = new Forwarder(router, writer, retained);
  return { router, sessions, accounts, writer, forwarder, retained };
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
  { retained: store, headroom, witness }: Storage,
  { model, limits, watch }: SiteParts,
): Promise<RetainedMessages> {
  const unreadable: string[] = [];
  const retained = new RetainedMessages({
    store,
    headroom,
    quotas: limits.device,
    maxBytes: config.limits.total.retainedBytes,
    watch,
    health,
    log,
  });
  releasers.add(() => retained.writer.stop());
  releasers.every(RETAINED_RETRY_MS, () => retained.writer.retry());
  await retained.load(store.load(await store.topics(), (topic) => unreadable.push(topic)));
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
  return retained;
}

/** Loads the sessions and counts their backlogs. Nothing may be appended before. */
async function openSessions(
  { router, accounts, writer }: Pick<DeliveryParts, 'router' | 'accounts' | 'writer'>,
  foundation: Foundation,
  storage: Storage,
  ownerOf: (key: string) => SessionOwner | undefined,
): Promise<Sessions> {
  const { config, log, health, releasers, steady } = foundation;
  const sessions = new Sessions({
    store: storage.sessions,
    router,
    log,
    ownerOf,
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
    for (const { key, accounts: account } of router.consumers) {
      if (key === undefined || isBalanced(account.alarms)) continue;
      sessions.mend(key).catch((err: unknown) => {
        log.warn({ session: key, err }, 'failed to store a session');
      });
    }
  };
  const onAccounts = () => {
    health.replace('accounts', accountFaults(router.consumers, mendBroken));
  };
  const upkeep = new Upkeep({
    router,
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

function reportUnreadable(clientIds: readonly string[], health: Health, log: Logger): void {
  if (clientIds.length === 0) return;
  log.error({ clientIds }, 'failed to read stored sessions');
  const faults = clientIds.map((id) => {
    return { ...fault('sessionUnreadable'), subject: { type: 'session' as const, id, name: id } };
  });
  health.replace('sessions', faults);
}
