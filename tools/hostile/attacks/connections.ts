/** Connections that are many, that come and go, or that say nothing. */

import { connectBytes } from '../../../test/harness/load/connection.js';
import type { Attack } from '../attack.js';
import { nothing } from './packets.js';

const RETRY_MS = 500;
const MAX_OPEN_FILES = 2_048;
const [IDLE_ADDRESSES, MANY_ADDRESSES] = [11, 1_000];
const RESET_TOGETHER = 900;
const HALF = { clientId: 'half', username: 'half', password: 'open' };

const FOR_A_DEVICE = { as: 'device', has: { devices: 1 }, sends: nothing } as const;

export const CONNECTIONS: readonly Attack[] = [
  {
    ...FOR_A_DEVICE,
    name: 'open-files',
    what: `one device opens 2,019 MQTT connections to a gateway with ${MAX_OPEN_FILES} file descriptors`,
    connections: 2_019,
    holds: true,
    retryMs: RETRY_MS,
    needs: () => ({ maxOpenFiles: MAX_OPEN_FILES }),
    expects: 'denied',
  },
  {
    name: 'many-sessions',
    what: 'one token opens persistent sessions over 20 connections as fast as it can',
    connections: 20,
    as: 'token',
    has: { tokens: 1 },
    connect: () => ({ clean: false }),
    sends: nothing,
    expects: 'served',
  },
  {
    ...FOR_A_DEVICE,
    name: 'reconnect-storm',
    isUnnamed: true,
    what: 'one device connects and hangs up again without a pause, 50 connections at a time',
    connections: 50,
    expects: 'served',
  },
  {
    ...FOR_A_DEVICE,
    name: 'takeovers',
    isUnnamed: true,
    what: 'one device connects again and again under one client id, 20 connections at a time, each of which ends another [MQTT-3.1.4-2]',
    connections: 20,
    connect: () => ({ clientId: 'same' }),
    holds: true,
    expects: 'closed',
  },
  {
    ...FOR_A_DEVICE,
    name: 'client-id-squatting',
    what: "a device takes the client ids of another home's sensor, between two of its connections, and of its absent subscriber",
    connections: 4,
    connect: ({ index }) => ({ clientId: index % 2 === 0 ? 'newcomer' : 'durable', clean: false }),
    sends: async function* (line) {
      await line.pause(50);
      yield '';
    },
    isDurableAway: true,
    isUnnamed: true,
    expects: 'closed',
  },
  {
    name: 'idle-http',
    leastSeconds: 15,
    what: `${IDLE_ADDRESSES} addresses hold 1,000 idle HTTP connections each`,
    connections: IDLE_ADDRESSES * 1_000,
    to: 'http',
    sends: nothing,
    holds: true,
    retryMs: RETRY_MS,
    addresses: IDLE_ADDRESSES,
    expects: 'closed',
  },
  {
    name: 'idle-mqtt',
    leastSeconds: 15,
    what: '1,000 addresses hold 5 MQTT connections each on which no CONNECT ever comes',
    connections: MANY_ADDRESSES * 5,
    sends: nothing,
    holds: true,
    retryMs: RETRY_MS,
    addresses: MANY_ADDRESSES,
    expects: 'closed',
  },
  {
    name: 'one-address',
    what: 'one address opens MQTT connections as fast as it can, 500 at a time, without a CONNECT',
    connections: 500,
    sends: async function* (line) {
      await line.pause(200);
      yield '';
    },
    addresses: 1,
    expects: 'closed',
  },
  {
    name: 'half-open',
    leastSeconds: 15,
    what: '5,000 connections from loopback stop in the middle of CONNECT',
    connections: 5_000,
    sends: async function* () {
      yield connectBytes(HALF).subarray(0, 12);
    },
    holds: true,
    retryMs: RETRY_MS,
    expects: 'closed',
  },
  {
    name: 'resets',
    isUnnamed: true,
    what: `one token connects ${RESET_TOGETHER} times and resets all of these connections at once, again and again`,
    connections: RESET_TOGETHER,
    as: 'token',
    has: { tokens: 1 },
    connect: ({ index }) => ({ clientId: `reset-${index}` }),
    sends: async function* (line) {
      // All end at the next full second.
      await line.pause(1_000 - (Date.now() % 1_000));
      yield '';
    },
    expects: 'served',
  },
];
