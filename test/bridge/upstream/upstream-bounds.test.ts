import { generate } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { configured, useParts } from '../parts.js';

const MIB = 1024 * 1024;
const TOPIC = 'devices/6f1b1c1e-1111-4111-8111-111111111111/commands/door';
const TOO_LARGE = /bridge is down: the upstream sends packets far over the limit: bridge region/;

const world = useParts();

function publishOf(bytes: number): Buffer {
  const packet = { cmd: 'publish', topic: TOPIC, payload: Buffer.alloc(bytes), qos: 0 } as const;
  return generate({ ...packet, dup: false, retain: false });
}

describe('an upstream that sends a packet far over the limit', () => {
  it.each(['3.1.1', 5] as const)(
    'is disconnected before the packet is gathered, told to forget it, and named (MQTT %s)',
    async (protocol) => {
      const upstream = await world.upstream();
      const parts = world.parts();
      const options = configured({ url: upstream.url, protocol, commands: ['#'] });
      await parts.bridges.apply([options]);
      await expect.poll(() => upstream.connections).toBe(1);
      const before = process.memoryUsage().rss;
      const packet = publishOf(100 * MIB);
      const own = process.memoryUsage().rss - before;
      upstream.sendBytes(packet);
      await expect
        .poll(() => faultTexts(parts.health.faults()))
        .toEqual([expect.stringMatching(TOO_LARGE)]);
      await expect.poll(() => upstream.connections).toBe(0);
      expect(process.memoryUsage().rss - before - own).toBeLessThan(50 * MIB);

      await parts.alarm('bed');
      await expect.poll(() => upstream.topics).toHaveLength(1);
      expect(upstream.cleanFlags).toEqual([false, true]);
      expect(faultTexts(parts.health.faults())).toEqual([]);
    },
  );

  it('is not disconnected for many bytes in packets within the limit', async () => {
    const [bytes, count] = [9_000, 500];
    const upstream = await world.upstream();
    let accepted = 0;
    const parts = world.parts({
      accept: () => {
        accepted++;
        return Promise.resolve();
      },
      commandLimits: { bytesPerSecond: bytes * count, byteBurst: bytes * count * 2 },
    });
    const options = configured({ url: upstream.url, protocol: '3.1.1', commands: ['#'] });
    await parts.bridges.apply([options]);
    await expect.poll(() => upstream.packets.some(({ cmd }) => cmd === 'subscribe')).toBe(true);
    upstream.sendBytes(Buffer.concat(Array.from({ length: count }, () => publishOf(bytes))));
    await expect.poll(() => accepted).toBe(count);
    expect(faultTexts(parts.health.faults())).toEqual([]);
  });

  it('is disconnected when the packet arrives in one WebSocket frame', async () => {
    const server = new WebSocketServer({ port: 0 });
    const closed: number[] = [];
    server.on('connection', (socket) => {
      socket.on('close', (code) => closed.push(code));
      socket.once('message', () => {
        socket.send(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
        socket.send(publishOf(20 * MIB));
      });
    });
    try {
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      const parts = world.parts();
      await parts.bridges.apply([
        configured({ url: `ws://127.0.0.1:${port}`, protocol: '3.1.1', commands: ['#'] }),
      ]);
      await expect
        .poll(() => faultTexts(parts.health.faults()))
        .toEqual([expect.stringMatching(TOO_LARGE)]);
      // "Message too big" (RFC 6455, 7.4.1): the announced length was enough.
      await expect.poll(() => closed).toEqual([1009]);
    } finally {
      server.close();
    }
  });
});

describe('an upstream that sends commands faster than permitted', () => {
  it('is slowed and named, and every command is accepted in order', async () => {
    const [burst, perSecond, count] = [100, 200, 400];
    const upstream = await world.upstream();
    const accepted: string[] = [];
    const parts = world.parts({
      accept: ({ rest }) => {
        accepted.push(rest);
        return Promise.resolve();
      },
      commandLimits: { messagesPerSecond: perSecond, messageBurst: burst },
    });
    await parts.bridges.apply([configured({ url: upstream.url, commands: ['#'] })]);
    await expect.poll(() => upstream.packets.some(({ cmd }) => cmd === 'subscribe')).toBe(true);
    const startedMs = performance.now();
    const numbers = Array.from({ length: count }, (_, n) => String(n));
    for (const n of numbers) {
      const topic = TOPIC.replace('door', n);
      const message = { topic, payload: 'open', qos: 0, dup: false, retain: false } as const;
      upstream.send({ cmd: 'publish', ...message });
    }
    await expect.poll(() => accepted.length).toBe(count);
    expect(performance.now() - startedMs).toBeGreaterThan(((count - burst) / perSecond) * 900);
    expect(accepted).toEqual(numbers);
    await expect
      .poll(() => faultTexts(parts.health.faults()))
      .toEqual(['A bridge is slowed: its upstream sends more than it may: bridge region']);
  });
});
