import type { Logger } from 'pino';
import { bridgeNameOf, bridgeOwner } from '../bridge/bridge-queue.js';
import { sessionOwner } from '../broker/admission/authentication.js';
import { RetainedRedis } from '../broker/retained-redis.js';
import { BacklogBounds } from '../delivery/backlog/backlog-bounds.js';
import { countBacklogs, markBacklogs } from '../delivery/backlog/backlog-count.js';
import { BACKLOG_CHECK_MS, backlogFaults } from '../delivery/backlog/backlog-fault.js';
import { Upkeep } from '../delivery/backlog/upkeep.js';
import { Deliveries } from '../delivery/deliveries.js';
import { Forwarder } from '../delivery/forwarder.js';
import { heldBackFaults } from '../delivery/log/held-back-fault.js';
import { LiveCopies } from '../delivery/log/live-copies.js';
import {
  type AlarmLogItem,
  isAlarm,
  isStateChange,
  type LogReader,
  type NewMessage,
} from '../delivery/log/log-entry.js';
import { LogWriter } from '../delivery/log/log-writer.js';
import { RetainedMessages } from '../delivery/retained/retained-messages.js';
import { RetainedWriter } from '../delivery/retained/retained-writer.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import { Sessions } from '../delivery/sessions/sessions.js';
import { missingBridge } from '../domain/bridge-schema.js';
import { firstOf, warning } from '../domain/faults.js';
import { mayReceive, type Principal } from '../domain/grants.js';
import { Principals } from '../site/access/principals.js';
import type { Health } from '../site/health/health.js';
import { storedBytesOf } from '../site/health/store-headroom.js';
import type { Foundation } from './foundation.js';
import type { SiteParts } from './site-loading.js';
import type { Storage } from './storage.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_NAMED_SESSIONS = 3;
const MAX_LOGGED_TOPICS = 10;

/** The two logs' writers, and everyone who is fed from the logs. */
export interface DeliveryParts {
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly alarms: LogWriter<AlarmLogItem>;
  readonly messages: LogWriter<NewMessage>;
  readonly forwarder: Forwarder;
  readonly retained: RetainedMessages;
}

/** Opens the delivery: its writers, its sessions, and what looks after both. */
export async function openDelivery(
  foundation: Foundation,
  storage: Storage,
  site: SiteParts,
): Promise<DeliveryParts> {
  const { log, health, releasers, steady } = foundation;
  const { logs } = storage;
  const { retained, store: retainedStore } = await openRetained(foundation, storage, site);
  const restoreRetained = () =>
    retainedStore.topics().then(
      (topics) => retained.storeAll(topics),
      (error: unknown) => log.warn({ err: error }, 'failed to restore retained messages'),
    );
  const deliveries = new Deliveries({
    newest: {
      alarms: await logs.lastSequence('alarms'),
      messages: await logs.lastSequence('messages'),
    },
    reader: logs,
    log,
    now: steady.now,
    elapsedSinceMs: steady.elapsedSinceMs,
    onLost: (log, count) => {
      if (log === 'alarms') storage.witness.report({ counts: { backlog: count } });
    },
    // What is still in memory is stored again, alarms under their old ids.
    onWentBack: (log, from, to, entries) => {
      if (log === 'alarms') storage.witness.report({ alarms: { from, to } });
      void restoreRetained();
      for (const { source } of entries) {
        if (source === undefined) continue;
        if (isAlarm(source) || isStateChange(source)) alarms.restore(source);
        else {
          storage.headroom.reserve(storedBytesOf(source));
          messages.restore(source);
        }
      }
    },
  });
  const alarms = new LogWriter<AlarmLogItem>({
    log: 'alarms',
    store: logs.alarms,
    deliveries,
    logger: log,
    onOutage: (fault) => health.report('alarm-log', fault),
    onHeldBack: (items) => health.reportAll('alarms-held-back', heldBackFaults(items)),
  });
  const messages = new LogWriter<NewMessage>({
    log: 'messages',
    store: logs.messages,
    deliveries,
    logger: log,
    onOutage: (fault) => health.report('message-log', fault),
    onHeldBack: (items) => health.reportAll('messages-held-back', heldBackFaults(items)),
  });
  const sessions = await openSessions(deliveries, foundation, storage, site);
  const liveCopies = new LiveCopies(alarms, deliveries);
  liveCopies.start();
  releasers.add(() => {
    liveCopies.stop();
    alarms.stop();
    messages.stop();
    deliveries.stop();
  });
  releasers.every(BACKLOG_CHECK_MS, () => {
    health.reportAll('backlogs', backlogFaults(deliveries.consumers));
  });
  const forwarder = new Forwarder({
    deliveries,
    writer: messages,
    headroom: storage.headroom,
    retained,
  });
  return { deliveries, sessions, alarms, messages, forwarder, retained };
}

/** Reads the retained messages, and removes those of devices that are gone or elsewhere since. */
async function openRetained(
  { config, health, log, releasers }: Foundation,
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
  if (unreadable.length > 0) {
    const topics = unreadable.slice(0, MAX_LOGGED_TOPICS);
    log.error({ count: unreadable.length, topics }, 'failed to read retained messages, left out');
  }
  // A gateway that was killed may have moved or deleted a device, and not yet removed these.
  retained.removeStray((deviceId, locationId) => {
    const device = model.device(deviceId);
    // Somebody may restore a record that is unreadable or was lost.
    if (device === undefined)
      return !witness.hasLostPrincipals && !model.isUnreadable(`device:${deviceId}`);
    return locationId !== device.locationId;
  });
  return { retained, store };
}

/** Loads the sessions and counts their backlogs; only afterwards may anything be appended. */
async function openSessions(
  deliveries: Deliveries,
  foundation: Foundation,
  storage: Storage,
  site: SiteParts,
): Promise<Sessions> {
  const { config, log, health, releasers, steady } = foundation;
  const { logs } = storage;
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
  const { unreadable, countedUpTo } = await sessions.start();
  releasers.add(() => sessions.stop());
  reportUnreadable(unreadable, health, log);
  await countBacklogs(deliveries, logs, countedUpTo);
  markInBackground(deliveries, logs, foundation);
  storage.startRetention(
    () => Math.min(deliveries.floor('alarms'), sessions.storedFloor('alarms')) + 1,
  );
  const { token, total } = config.limits;
  const bounds = new BacklogBounds({
    logs,
    byOwner: () => sessions.backlogsByOwner(),
    maxBytesOf: (owner) => (bridgeNameOf(owner) === undefined ? token.backlogBytes : undefined),
    maxLogBytes: total.backlogBytes,
    leftInStore: () => storage.memory.leftForOthers,
  });
  const upkeep = new Upkeep({ logs, deliveries, sessions, bounds, log });
  upkeep.start();
  releasers.add(() => upkeep.stop());
  return sessions;
}

/** Finds the owner of a stored session: a bridge, a principal, or one whose record is unreadable. */
function ownersOf(
  { config }: Foundation,
  { witness }: Storage,
  { model, accessTokens }: SiteParts,
) {
  const principals = new Principals(model, accessTokens);
  const bridgeOwnerOf = (key: string): SessionOwner | undefined => {
    const name = bridgeNameOf(key);
    const configured = config.bridges.find((bridge) => bridge.name === name);
    return name === undefined ? undefined : bridgeOwner(configured ?? missingBridge(name));
  };
  const isHeld = (key: string) => witness.hasLostPrincipals || model.isUnreadable(key);
  return (key: string): SessionOwner | undefined => {
    const owner = bridgeOwnerOf(key) ?? ownerOf(principals.byKey(key));
    return owner ?? (isHeld(key) ? heldOwner(key, principals) : undefined);
  };
}

function ownerOf(principal: Principal | undefined): SessionOwner | undefined {
  return principal && sessionOwner(principal);
}

/**
 * The owner of a session whose device or token has a record that is unreadable or was lost.
 *
 * That must not discard a session with its backlog: somebody may restore the record. Until then there is no
 * credential to connect with.
 */
function heldOwner(key: string, principals: Principals): SessionOwner {
  return {
    key,
    mayReceive: (audience) => {
      const restored = principals.byKey(key);
      return restored === undefined || mayReceive(restored, audience);
    },
    // In a selection of its own, as its permission to receive changes with the record.
    audienceKey: `held/${key}`,
  };
}

function reportUnreadable(clientIds: readonly string[], health: Health, log: Logger): void {
  if (clientIds.length === 0) return;
  log.error({ clientIds }, 'failed to read stored sessions');
  const lost = 'a stored session cannot be read, its backlog is lost';
  const faults = firstOf(
    clientIds,
    MAX_NAMED_SESSIONS,
    (id) => warning('record-damaged', lost, { type: 'session', id, name: id }),
    (count) => warning('record-damaged', `${lost} (${count} more)`),
  );
  health.reportAll('sessions', faults);
}

/** Sets the marks for jumping: a start does not wait for a scan of the logs. */
function markInBackground(
  deliveries: Deliveries,
  reader: LogReader,
  { releasers, log }: Foundation,
): void {
  const stopping = new AbortController();
  releasers.add(() => stopping.abort());
  const marked = markBacklogs(deliveries, reader, stopping.signal);
  marked.catch((error: unknown) => {
    log.warn({ err: error }, 'failed to scan the logs for marks');
  });
}
