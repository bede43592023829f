import { once } from 'node:events';
import { generate } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { deniedOf } from '../../former/clients/connection-list.js';
import { connectPacket, publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

/** One and a half keep-alives of a second [MQTT-3.1.2-24]. */
const EARLIEST_MS = 1_450;

/** Ten seconds for a CONNECT. */
const CONNECT_EARLIEST_MS = 9_500;

let home: Home;
let store: Store;
/** How long connections without a CONNECT, or with only its beginning, stayed open: for all tests of this file. */
let openMs: Promise<number[]>;

async function withoutConnect(bytes: Buffer): Promise<number> {
  const client = await RawClient.open(home.gateway);
  const openedAt = performance.now();
  client.stream.write(bytes);
  await once(client.stream, 'close');
  return performance.now() - openedAt;
}

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  store = await Store.of(home.gateway);
  const begun = generate(connectPacket({ clientId: 'begun' })).subarray(0, -1);
  openMs = Promise.all([Buffer.alloc(0), begun].map(withoutConnect));
});

afterAll(async () => {
  store.thaw();
  store.close();
  await home.remove();
});

function connect(device: TestDevice, will?: string): Promise<RawClient> {
  const topic = `devices/${device.id}/gone`;
  return RawClient.connect(home.gateway, device, {
    keepalive: 1,
    ...(will !== undefined && {
      will: { topic, payload: Buffer.from(will), qos: 1, retain: false },
    }),
  });
}

async function unstoredBytes(): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
}

/** Resolves after this many pings, four a second, or when the client is closed. */
async function pings(client: RawClient, count: number, isAnswered: boolean): Promise<void> {
  for (let sent = 1; sent <= count && !client.isClosed; sent++) {
    if (isAnswered) await client.ping();
    else client.send({ cmd: 'pingreq' });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

describe('a client with a keep-alive of one second', () => {
  it.concurrent('is closed after 1.5 s of silence, and its will is published', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'gone');
    const from = home.gateway.lines.length;
    const client = await connect(device, '"silent"');
    await client.ping();
    const heardAt = performance.now();
    await client.closed();
    expect(performance.now() - heardAt).toBeGreaterThan(EARLIEST_MS);
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ data: 'silent' }]);
    await home.gateway.logged('"code":"keep-alive-timeout"', from);
    await nurse.end();
  });

  it.concurrent('stays connected while it sends anything', async () => {
    const client = await connect(await home.device());
    await pings(client, 12, true);
    expect(client.isClosed).toBe(false);
    client.vanish();
  });

  it.concurrent('is closed even when it stops in the middle of a packet', async () => {
    const client = await connect(await home.device());
    client.stream.write(Buffer.from([0x30, 20, 0, 5]));
    await client.closed();
  });

  it('is not closed while back-pressure holds it', async () => {
    const device = await home.device();
    const client = await connect(device);
    const payload = `{"kind":"fall","x":"${'x'.repeat(15 * 1024)}"}`;
    const alarm = publishPacket(`devices/${device.id}/alarms`, payload);
    const count = 700;
    store.freeze();
    onTestFinished(() => store.thaw());
    for (let messageId = 1; messageId <= count; messageId++) {
      client.send({ ...alarm, qos: 1, messageId });
    }
    // The room for one principal's alarms fills up before all of them are read.
    await expect.poll(unstoredBytes).toBeGreaterThan(36 * 1024 * 1024);
    await pings(client, 12, false);
    expect(client.isClosed).toBe(false);
    store.thaw();
    const isAcknowledgement = ({ cmd }: { cmd?: string }) => cmd === 'puback';
    await client.until(
      (came) => came.filter(isAcknowledgement).length === count,
      'not all acknowledged',
    );
    // Its last packet was a ping: from then on its silence counts again.
    await client.closed();
  });

  it('is not closed when the gateway itself was blocked', async () => {
    const client = await connect(await home.device());
    await client.ping();
    for (let round = 0; round < 2; round++) {
      client.send({ cmd: 'pingreq' });
      // Blocks the gateway, which is in this process; the ping waits with the system.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
      await client.next('pingresp');
    }
    expect(client.isClosed).toBe(false);
    client.vanish();
  });
});

describe('a token', () => {
  it.concurrent('without a keep-alive stays connected though silent', async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer, { keepalive: 0 });
    const silent = await connect(await home.device());
    await silent.closed();
    await nurse.ping();
    nurse.vanish();
  });

  it.concurrent('with a keep-alive of 0, 60 or 600 gets the maximum', async (test) => {
    const strict = await Home.start({ GATEWAY_MQTT_MAX_KEEP_ALIVE_SECONDS: '1' });
    test.onTestFinished(() => strict.remove());
    const silentMs = async (asked: number) => {
      const nurse = await RawClient.connect(strict.gateway, strict.viewer, { keepalive: asked });
      const heardAt = performance.now();
      await nurse.closed();
      return performance.now() - heardAt;
    };
    for (const ms of await Promise.all([0, 60, 600].map(silentMs))) {
      expect(ms).toBeGreaterThan(EARLIEST_MS);
    }
  });
});

it('a connection without a complete CONNECT is closed after ten seconds', async () => {
  for (const ms of await openMs) {
    expect(ms).toBeGreaterThan(CONNECT_EARLIEST_MS);
  }
  const codes = (await deniedOf(home.gateway)).map(({ code }) => code);
  expect(codes.filter((code) => code === 'no-connect')).toHaveLength(2);
});
