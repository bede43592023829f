/** Opens the broker, still without listeners. */
import type { DeliveryParts } from '../delivery/open.js';
import { SessionQuota } from '../delivery/sessions/session-limits.js';
import { MAX_CONNECTIONS } from '../domain/limits.js';
import type { Foundation } from '../foundation.js';
import type { IngestParts } from '../ingest/open.js';
import { connectionShares } from '../network/open-files.js';
import { FailedLogins } from '../site/access/failed-logins.js';
import type { SiteParts } from '../site/open.js';
import { Broker } from './broker.js';
import { Denied } from './denied.js';
import { Flows } from './flow.js';
import { Logins } from './login.js';
import { Publishing } from './publishing.js';
import { Subscribing } from './subscribing.js';

/** For MQTT, which only delays the answer to a failed login. */
const FREE_FAILURES = 3;
const SLOWED_CHECK_MS = 1_000;

/** The broker, and its parts that others read or notify. */
export type BrokerParts = Awaited<ReturnType<typeof openBroker>>;

/** Opens the broker, still without listeners. */
export async function openBroker(
  { config, log, health, releasers, maxOpenFiles, steady, now, elapsed }: Foundation,
  site: SiteParts,
  { router, sessions, retained }: DeliveryParts,
  { publishes, commands, alarmStates, presence, hubs }: IngestParts,
) {
  const { model, accessTokens, watch, limits } = site;
  const { maxPacketBytes, maxKeepAliveSeconds } = config.mqtt;
  const isKnown = (id: string) => model.device(id) !== undefined || accessTokens.has(id);
  const denied = new Denied({ denials: site.denials, isKnown, log, now, elapsed });
  const flows = new Flows({ limits, model, wallMs: now, log });
  const maxOfTokens = config.limits.total.persistentSessions;
  const sessionQuota = new SessionQuota({ sessions, quotas: limits, maxOfTokens, watch });
  const logins = new Logins({
    accessTokens,
    sessions,
    failedLogins: new FailedLogins(FREE_FAILURES, watch, elapsed),
    flows,
    isKnown,
    sessionQuota,
    quotas: limits,
    maxKeepAliveSeconds,
  });
  const publishing = new Publishing({
    publishes,
    commands,
    alarmStates,
    presence,
    hubs,
    flows,
    model,
    denied,
    steadyNow: steady.now,
    log,
  });
  const subscribing = new Subscribing({
    sessions,
    sessionQuota,
    retained,
    denied,
    quotas: limits,
    watch,
    log,
  });
  const broker = new Broker({
    logins,
    publishing,
    subscribing,
    sessions,
    presence,
    hubs,
    denied,
    watch,
    router,
    maxConnections: Math.min(MAX_CONNECTIONS, connectionShares(maxOpenFiles).mqtt),
    maxPacketBytes,
    log,
    now,
  });
  await broker.start();
  releasers.add(() => broker.stop());
  releasers.every(SLOWED_CHECK_MS, () => {
    const faults = flows.faults(performance.now());
    for (const kind of ['deviceSlowed', 'tokenSlowed']) {
      const ofKind = faults.filter(({ name }) => name === kind);
      health.replace(`slowed/${kind}`, ofKind);
    }
  });
  return { broker, flows };
}
