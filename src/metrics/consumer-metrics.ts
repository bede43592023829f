import { type AccountReader, tooMany } from '../delivery/accounts.js';
import { LOG_NAMES } from '../delivery/message.js';
import { isOutlet } from '../delivery/outlet.js';
import type { ConsumingSession } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { type Labels, oncePerScrape, type Sample, type Scraped } from './scraped.js';

/** Consumers with series of their own; a scrape must not hold up alarms. */
const MAX_CONSUMERS = 250;
/** The states of accepted messages: each message is in one of them. */
const STATES = ['delivered', 'queued', 'expired', 'dropped'] as const;

/** Adds the account of every destination: for alarms `accepted = delivered + queued + expired + dropped` (docs/reference/contract.md, 4.6). */
export function addConsumerMetrics(
  metrics: Scraped,
  sessions: Pick<Sessions, 'persistent'>,
  accounts: Pick<AccountReader, 'refresh'>,
): void {
  const all = oncePerScrape(async () => {
    await accounts.refresh();
    return rankedConsumers(sessions.persistent());
  });
  const of = (state: (typeof STATES)[number] | 'accepted') => async () =>
    (await all()).shown.flatMap(({ session: { clientId, consumer }, principal }) =>
      LOG_NAMES.map((log): Sample => {
        return [consumer.accounts[log][state], { consumer: clientId, log, ...principal }];
      }),
    );
  const labels = ['consumer', 'log', 'principal'];
  metrics.counter(
    'gateway_consumer_accepted_total',
    'Messages accepted for a consumer: the sum of delivered, queued, expired and dropped',
    of('accepted'),
    labels,
  );
  metrics.counter(
    'gateway_consumer_delivered_total',
    'Accepted messages that the consumer has acknowledged',
    of('delivered'),
    labels,
  );
  metrics.gauge(
    'gateway_consumer_queued',
    'Accepted messages that wait or are in flight',
    of('queued'),
    labels,
  );
  metrics.counter(
    'gateway_consumer_expired_total',
    'Accepted messages that left the backlog because of their age',
    of('expired'),
    labels,
  );
  metrics.counter(
    'gateway_consumer_dropped_total',
    'Accepted messages that left the backlog undelivered, for another reason',
    of('dropped'),
    labels,
  );
  metrics.counter(
    'gateway_consumer_dropped_by_reason_total',
    'The same by reason: too_many (bounds of the backlog), refused (dead letters), lost (by the store), forbidden (the receiver may no longer see them), too_large (for the receiver)',
    async () =>
      (await all()).shown.flatMap(({ session: { clientId, consumer }, principal }) =>
        LOG_NAMES.flatMap((log) => {
          const account = consumer.accounts[log];
          const { 'too-large': too_large, ...others } = account.reasons;
          const reasons = { too_many: tooMany(account), too_large, ...others };
          return Object.entries(reasons).map(([reason, count]): Sample => {
            return [count, { consumer: clientId, log, reason, ...principal }];
          });
        }),
      ),
    [...labels, 'reason'],
  );
  // A gauge: which consumers are in the sum changes with the backlogs.
  metrics.gauge(
    'gateway_other_consumers_messages',
    `Messages accepted for all consumers but the ${MAX_CONSUMERS} with the largest backlogs, by what became of them`,
    async () => {
      const { others } = await all();
      return LOG_NAMES.flatMap((log) =>
        STATES.map((state): Sample => {
          const counts = others.map(({ consumer }) => consumer.accounts[log][state]);
          return [counts.reduce((sum, count) => sum + count, 0), { log, state }];
        }),
      );
    },
    ['log', 'state'],
  );
}

/** Consumers with their labels, the largest backlogs first, and those beyond the bound. */
function rankedConsumers(sessions: readonly ConsumingSession[]) {
  const byBacklog = sessions.toSorted((one, other) => weightOf(other) - weightOf(one));
  // Principals may have the same client id: all except the first get the label of their principal.
  const first = new Map(sessions.toReversed().map((session) => [session.clientId, session]));
  const shown = byBacklog.slice(0, MAX_CONSUMERS).map((session) => {
    const principal: Labels = { principal: session.owner.key };
    return { session, principal: first.get(session.clientId) === session ? {} : principal };
  });
  return { shown, others: byBacklog.slice(MAX_CONSUMERS) };
}

/** The backlog of a session. A bridge or webhook, which is never left out, weighs more than any other. */
function weightOf({ owner, consumer: { queued } }: ConsumingSession): number {
  if (isOutlet(owner.key)) return Number.MAX_SAFE_INTEGER;
  return queued.alarms + queued.messages;
}
