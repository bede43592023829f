import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { DirectMessage } from '../../src/delivery/direct-queue.js';
import { Forwarder } from '../../src/delivery/forwarder.js';
import { GatewayStatus } from '../../src/delivery/gateway-status.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import { fault } from '../../src/domain/faults/faults.js';
import { Health } from '../../src/site/health/health.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { batchesOf, RunningDelivery, silent } from './running-delivery.js';

const INTERVAL_MS = 30_000;
const START_MS = Date.UTC(2026, 10, 21);

const health = new Health(() => nowMs);
const unreachable = fault('storeUnreachable');
let told: DirectMessage[];
let status: GatewayStatus;
let nowMs = START_MS;

/** A writer that appends to no log. */
const noLog = () => Promise.reject(new Error('not to be stored'));

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  told = [];
  const { deliveries } = await RunningDelivery.begin();
  const retained = {
    set: async (message: DirectMessage) => {
      told.push(message);
    },
  };
  const writer = new LogWriter({
    log: 'messages' as const,
    store: batchesOf(noLog),
    deliveries,
    logger: silent,
    onWentBack: () => [],
    onOutage: () => undefined,
    onHeldBack: () => undefined,
  });
  const forwarder = new Forwarder({
    deliveries,
    writer,
    retained,
    headroom: new StoreHeadroom(),
  });
  status = new GatewayStatus(forwarder, health, '1.2.3', () => nowMs);
});

afterEach(() => {
  vi.useRealTimers();
});

function statuses(): unknown[] {
  return told.map(({ payload }) => JSON.parse(payload.toString()));
}

async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

it('gateway/status is published every 30 s with the current faults, and a last time on stop', async () => {
  status.start();
  await pass(INTERVAL_MS - 1);
  expect(told).toMatchObject([{ topic: 'gateway/status', qos: 1, retain: true }]);
  await pass(1);
  health.report('store', unreachable);
  await pass(INTERVAL_MS);
  health.report('store', undefined);
  await status.stop();
  await pass(INTERVAL_MS);
  const at = (ms: number) => new Date(START_MS + ms).toISOString();
  const message = 'The store is unreachable.';
  const faults = [{ code: 'store-unreachable', stops: true, message, since: at(INTERVAL_MS) }];
  const common = { online: true, version: '1.2.3' };
  expect(statuses()).toEqual([
    { ...common, at: at(0), faults: [] },
    { ...common, at: at(INTERVAL_MS), faults: [] },
    { ...common, at: at(INTERVAL_MS), faults },
    { ...common, at: at(2 * INTERVAL_MS), faults },
    { ...common, at: at(2 * INTERVAL_MS), faults: [] },
    { ...common, online: false, at: at(2 * INTERVAL_MS), faults: [] },
  ]);
});
