/**
 * What a client may send and hold, and how much all of them may: what the configuration sets, and what nobody needs to set.
 *
 * No honest device notices any of these limits.
 */
import { z } from 'zod';
import type { Principal } from './grants.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** MQTT connections of all clients. */
export const MAX_CONNECTIONS = 50_000;

const OF_A_DEVICE = {
  /** MQTT connections. */
  connections: 128,
  /** One more takes the place of the one that was away for longest. */
  persistentSessions: 5,
  /** Filters of all its sessions. */
  subscriptions: 100,
  /** Retained messages; beyond that they are forwarded, and not retained. */
  retainedTopics: 500,
  /** The same in bytes, as forwarded. */
  retainedBytes: 4 * MIB,
};
const OF_A_TOKEN = {
  /** Filters of all its sessions and event streams. */
  subscriptions: 10_000,
};

/** A limit. 0 is not allowed: delete a client that may send nothing at all. */
const limit = z.int().min(1);
const messagesPerSecond = limit
  .default(2_000)
  .describe(
    'messages that it may send over MQTT each second, and ten times as many at once; a packet of more than a KiB counts as one for each KiB',
  );

/** The limits that the configuration sets, with their defaults. */
export const limitsSchema = z.strictObject({
  connectionsPerSecond: limit
    .default(10)
    .describe(
      'new connections of one address each second, of MQTT and of HTTPS together; this machine is exempt',
    ),
  connectionBurst: limit.default(100).describe('after a burst of so many'),
  device: z
    .strictObject({
      messagesPerSecond,
      alarmsPerDay: limit
        .default(200_000)
        .describe('alarms: so many at once, then as many again spread over each day'),
      footageBytes: limit
        .default(5 * GIB)
        .describe("recordings in the gateway's folder; an upload beyond is 507"),
    })
    .prefault({})
    .describe('one device'),
  token: z
    .strictObject({
      messagesPerSecond,
      connections: limit.default(1_000).describe('MQTT connections and event streams'),
      persistentSessions: limit
        .default(50)
        .describe(
          'one more takes the place of one that is away and holds neither subscriptions nor a backlog',
        ),
    })
    .prefault({})
    .describe('one access token over MQTT'),
  total: z
    .strictObject({
      persistentSessions: limit
        .default(200)
        .describe(
          'persistent sessions of all access tokens, and groups of shared subscriptions: each alarm is queued for every one that has subscribed',
        ),
      retainedBytes: limit
        .default(64 * MIB)
        .describe(
          'all retained messages, which are in memory; beyond that they are forwarded, and not retained',
        ),
    })
    .prefault({})
    .describe('the whole gateway'),
});

/** The limits of a device, and those of an access token. */
export function principalLimits({ device, token }: z.output<typeof limitsSchema>) {
  return { device: { ...OF_A_DEVICE, ...device }, token: { ...OF_A_TOKEN, ...token } } as const;
}

export type PrincipalLimits = ReturnType<typeof principalLimits>;

/** How much may be retained. */
export type RetainedQuotas = Pick<PrincipalLimits['device'], 'retainedTopics' | 'retainedBytes'>;

/** How much an MQTT client may hold. */
export type ConnectionQuotas = Pick<
  PrincipalLimits['device'],
  'connections' | 'persistentSessions' | 'subscriptions'
>;

/** How much the clients of each kind of principal may hold. */
export type QuotasOfAll = Readonly<Record<Principal['type'], ConnectionQuotas>>;

/** How much each kind of principal may send; only a device sends alarms. */
export interface RateLimits {
  readonly device: { readonly messagesPerSecond: number; readonly alarmsPerDay: number };
  readonly token: { readonly messagesPerSecond: number };
}
