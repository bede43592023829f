/** Opens the broker, still without listeners. */
import type { DeliveryParts } from '../delivery/open.js';
import { SessionQuota } from '../delivery/sessions/session-limits.js';
import { isLoopbackAddress } from '../domain/addresses.js';
import type { Foundation } from '../foundation.js';
import type { IngestParts } from '../ingest/open.js';
import { connectionShares } from '../network/open-files.js';
import { FailedLogins } from '../site/access/failed-logins.js';
import type { SiteParts } from '../site/open.js';
import { Authentication } from './admission/authentication.js';
import { ConnectionDenials } from './admission/connection-denials.js';
import { ConnectionQuota } from './admission/connection-quota.js';
import { Budgets } from './budgets/budgets.js';
import { SLOWED_CHECK_MS, SlowedFaults } from './budgets/slowed-faults.js';
import { Slowing } from './budgets/slowing.js';
import { BackPressure } from './budgets/unstored-publishes.js';
import { MqttBroker } from './mqtt-broker.js';
import { Publishing } from './publishing.js';
import { Subscribing } from './subscribing.js';
import { Wills } from './wills.js';
import { Turns } from './wire/turns.js';

/** For MQTT, which only delays the answer to a failed login. */
const FREE_FAILURES = 3;

/** The broker, and its parts that others read or notify. */
export type BrokerParts = Awaited<ReturnType<typeof openBroker>>;

/** Opens the broker, still without listeners. */
export async function openBroker(
  { config, log, health, releasers, maxOpenFiles, steady, now, elapsed }: Foundation,
  site: SiteParts,
  { router, sessions, retained }: DeliveryParts,
  { publishes, commands, alarmStates, presence, hubs }: IngestParts,
) {
  const { model, devices, accessTokens, watch } = site;
  const { maxPacketBytes, maxKeepAliveSeconds } = config.mqtt;
  const quotasOf = site.principalLimits.of;
  const isKnown = (id: string) =>
    model.device(id) !== undefined || accessTokens.owner(id) !== undefined;
  const denials = new ConnectionDenials({ denials: site.denials, isKnown, log, now, elapsed });
  const backPressure = new BackPressure();
  const budgets = new Budgets(config.limits, model);
  const slowing = new Slowing(now);
  const slowedFaults = new SlowedFaults(slowing, { model, health, log });
  const quota = new ConnectionQuota({
    total: Math.min(config.limits.total.connections, connectionShares(maxOpenFiles).mqtt),
    watch,
    isExempt: isLoopbackAddress,
  });
  const maxOfTokens = config.limits.total.persistentSessions;
  const sessionQuota = new SessionQuota({ sessions, quotasOf, maxOfTokens, watch });
  const isBehindProxy = config.http.publicUrl !== undefined;
  const authentication = new Authentication({
    devices,
    accessTokens,
    sessions,
    failedLogins: new FailedLogins(FREE_FAILURES, watch, elapsed, isBehindProxy),
    backPressure,
    budgets,
    slowing,
    isKnown,
    connections: quota,
    sessionQuota,
    watch,
    quotasOf,
    denials,
    maxKeepAliveSeconds,
  });
  const publishing = new Publishing({
    publishes,
    commands,
    alarmStates,
    presence,
    hubs,
    budgets,
    model,
    denials,
    steadyNow: steady.now,
    log,
  });
  const broker = new MqttBroker({
    authentication,
    wills: new Wills({ publishing, log }),
    clientParts: {
      maxPacketBytes,
      turns: new Turns(router),
      publishing,
      subscribing: new Subscribing({
        sessions,
        sessionQuota,
        retained,
        denials,
        quotasOf,
        watch,
        log,
      }),
    },
    quota,
    watch,
    denials,
    sessions,
    presence,
    hubs,
    log,
    now,
  });
  await broker.start();
  releasers.add(() => broker.stop());
  releasers.every(SLOWED_CHECK_MS, () => slowedFaults.check());
  releasers.add(() => {
    backPressure.stop();
    slowing.stop();
  });
  const forget = (owner: string) => {
    for (const part of [budgets, backPressure]) part.forget(owner);
  };
  return { broker, backPressure, budgets, slowing, quota, forget };
}
