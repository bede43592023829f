import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { until } from '../former/until.js';
import { canMakeBoxes, NetworkBox } from './network-box.js';

const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Whether config/pair/gateway-serves.sh tells keepalived that the gateway at the URL serves. */
function serves(url: string): boolean {
  const { status } = spawnSync('config/pair/gateway-serves.sh', [url]);
  return status === 0;
}

async function store(): Promise<RedisServer> {
  const server = await RedisServer.start(...DURABLE);
  onTestFinished(() => server.remove());
  return server;
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe('gateway-serves.sh', () => {
  it('succeeds while a gateway serves, even when the store does not answer, and fails when it stands by or is gone', async () => {
    const { socketPath, processId } = await store();
    const external = { GATEWAY_REDIS_URL: `unix://${socketPath}` };
    const gateway = await GatewayProcess.start(external);
    onTestFinished(() => gateway.remove());
    const other = await GatewayProcess.create(external);
    onTestFinished(() => other.remove());
    expect(serves(await other.startStandingBy())).toBe(false);
    const url = gateway.httpUrl;
    expect(serves(url)).toBe(true);
    process.kill(processId, 'SIGSTOP');
    const isNotReady = async () => (await fetch(`${url}/readyz`)).status === 503;
    await until(isNotReady, 'the gateway is ready without a store');
    expect(serves(url)).toBe(true);
    process.kill(processId, 'SIGCONT');
    await gateway.kill();
    expect(serves(url)).toBe(false);
  });
});

describe.skipIf(!canMakeBoxes())('the address of the pair', () => {
  const boxes: NetworkBox[] = [];
  afterEach(async () => {
    for (const box of boxes.splice(0)) await box.remove();
  });

  /** Two boxes, each with keepalived. */
  async function pair(): Promise<readonly [NetworkBox, NetworkBox]> {
    const [one, two] = await NetworkBox.pair();
    boxes.push(one, two);
    await Promise.all([one.keepalived(), two.keepalived()]);
    return [one, two];
  }

  it('is where the gateway serves, and follows when that gateway is killed or stopped', async () => {
    const { socketPath } = await store();
    const [one, two] = await pair();
    const first = one.gateway(await directory(), socketPath);
    await first.lines.next('"msg":"gateway ready"', 0);
    await one.untilAlone(two);
    const second = two.gateway(await directory(), socketPath);
    await second.lines.next('"msg":"gateway standing by"', 0);
    await first.end('SIGKILL');
    await two.untilAlone(one);
    const again = one.gateway(await directory(), socketPath);
    await again.lines.next('"msg":"gateway standing by"', 0);
    expect(await two.hasAddress()).toBe(true);
    await second.end();
    await one.untilAlone(two);
  });

  it('leaves a box that is cut off from the store for one that is ready', async () => {
    const [one, two] = await pair();
    // Both serve, as when the boxes are cut off from each other.
    const [cutOff, reached] = [await store(), await store()];
    const first = one.gateway(await directory(), cutOff.socketPath);
    await first.lines.next('"msg":"gateway ready"', 0);
    await one.untilAlone(two);
    const second = two.gateway(await directory(), reached.socketPath);
    await second.lines.next('"msg":"gateway ready"', 0);
    process.kill(cutOff.processId, 'SIGSTOP');
    await two.untilAlone(one);
    process.kill(cutOff.processId, 'SIGCONT');
  });
});
