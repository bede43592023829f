/**
 * What a bridge sends and takes, what the operator sees of it, and what becomes of its queue when the configuration
 * changes or the gateway ends (contract 4.2, 4.6; docs/operate/bridges.md). `upstreams.ts` holds faulty upstreams.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { generate, type IPublishPacket } from 'mqtt-packet';
import { WebSocketServer } from 'ws';
import {
  ADMIN_TOKEN,
  Client,
  type ConnectOptions,
  describe,
  expect,
  type Home,
  NO_LIMITS,
  type Own,
  publishPacket,
  type Received,
  testWith,
  vi,
} from '../harness/index.js';
import { Mosquitto, type Script, ScriptedUpstream } from '../harness/upstream.js';
import { Bridges, bridgeOf, faultsOf, untilBridge, watcherAt } from './upstreams.js';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MISSING = { url: null, connected: false, lastError: { kind: 'missing' } };
const IS_MISSING =
  'A bridge is missing from the configuration: its queue is kept until it is back, or deleted';

const test = testWith({ env: { ...NO_LIMITS, GATEWAY_LOG_LEVEL: 'debug' } });

/** An upstream that notes what it is sent. */
async function scripted(own: Own, script: Script = {}) {
  const publishes: IPublishPacket[] = [];
  const onPublish: Script['onPublish'] = (packet, connection) => {
    publishes.push(packet);
    return script.onPublish?.(packet, connection) ?? 0;
  };
  const starting = ScriptedUpstream.start({ ...script, onPublish });
  const upstream = await own.keep(starting, (one) => one.remove());
  const topics = (prefix = '') =>
    publishes.flatMap(({ topic }) => (topic.startsWith(prefix) ? topic.slice(prefix.length) : []));
  return { upstream, url: upstream.url, publishes, topics };
}

function mosquitto(own: Own): Promise<Mosquitto> {
  return own.keep(Mosquitto.start(), (one) => one.remove());
}

/** An upstream at which nothing listens. */
function away(own: Own): Promise<Mosquitto> {
  return own.keep(Mosquitto.create(), (one) => one.remove());
}

/** Another client of the upstream. */
async function clientAt(
  home: Home,
  { port }: Mosquitto,
  options: ConnectOptions = {},
): Promise<Client> {
  const client = await Client.connect({ mqttPort: port }, {}, { isDescribed: false, ...options });
  home.onClose(() => client.vanish());
  return client;
}

/** A bridge that ends with the home; its name is the home's own. */
async function bridge(home: Home, url: string, keys: object = {}, name = nameIn(home)) {
  const bridges = Bridges.of(home.gateway);
  home.onClose(() => bridges.delete(name));
  await bridges.set(name, { url, locations: [home.locationId], ...keys });
  return name;
}

function nameIn({ locationId }: Home, part = 'b'): string {
  return `${part}-${locationId.slice(0, 13)}`;
}

/** The kind and the data of a forwarded message, in the order of arrival. */
function rest(topic: string): string {
  return topic.split('/').slice(4).join('/');
}

describe('what is sent', () => {
  test('with a name and a URL only: everything at QoS 1 under its forwarded topic, as a subscriber gets it', async ({
    home,
    own,
  }) => {
    const broker = await mosquitto(own);
    const upstream = await clientAt(home, broker);
    await upstream.subscribe('#', { qos: 2 });
    const name = await bridge(home, broker.url, { locations: undefined });
    await untilBridge(home, name, { connected: true });
    const device = await home.device('Bett 7');
    await home.customData(device, '{"ref":12345678901234567890}');
    const nurse = await home.client();
    await nurse.subscribe(`care-homes/${home.locationId}/#`);
    const sensor = await home.sensor({ device });
    await sensor.raise(1, { kind: 'helpCall', confidence: 0.9 });
    await sensor.publish('battery/level', '{"percent":80}', { qos: 2 });
    await sensor.publish('door', '{"open":true}', { retain: true });
    const shown = ({ received }: Client) =>
      received
        .filter(({ topic }) => topic.includes(device.id) && !topic.endsWith('/status'))
        .map(({ topic, text, qos, retain }: Received) => ({ topic, text, qos, retain }))
        .toSorted((one, other) => (one.topic < other.topic ? -1 : 1));
    await expect.poll(() => shown(upstream)).toHaveLength(3);
    expect(shown(upstream)).toEqual(shown(nurse));
    expect(shown(upstream).map(({ qos, retain }) => [qos, retain])).toEqual(
      Array(3).fill([1, false]),
    );
  });

  const ALARMS = ['alarms/fall', 'alarms/helpCall', 'alarms/noise'];
  const ALL = [...ALARMS, 'battery/level', 'door'];
  test('what locations, kinds and filters choose, under the topic of the template', async ({
    home,
    own,
  }) => {
    const elsewhere = await own.homeAt(home.gateway, `Haus ${randomUUID().slice(0, 8)}`);
    const [here, there] = [home.locationId, elsewhere.locationId];
    const both = { locations: [here, there] };
    const rows = {
      all: [both, ALL, ALL],
      alarms: [{ ...both, send: 'alarms' }, ALARMS, ALARMS],
      kinds: [
        { ...both, kinds: ['fall', 'helpCall'] },
        ['alarms/fall', 'alarms/helpCall'],
        ['alarms/fall', 'alarms/helpCall'],
      ],
      location: [{ locations: [there] }, [], ALL],
      filter: [{ ...both, filters: ['care-homes/+/devices/+/door'] }, ['door'], ['door']],
      cross: [
        { locations: [here], send: 'alarms', filters: ['+/+/+/+/alarms/noise'] },
        ['alarms/noise'],
        [],
      ],
    } as const;
    const { url, topics } = await scripted(own);
    for (const [prefix, [keys]] of Object.entries(rows)) {
      await bridge(home, url, { ...keys, topic: `${prefix}/{topic}` }, nameIn(home, prefix));
    }
    const template = { ...both, topic: 'x/{kind}/{deviceId}/{locationId}/y' };
    await bridge(home, url, template, nameIn(home, 'x'));
    const devices = [await home.device(), await elsewhere.device()] as const;
    // The second round shows that nothing more comes of the first.
    for (const round of [1, 2]) {
      for (const [one, device] of [
        [home, devices[0]],
        [elsewhere, devices[1]],
      ] as const) {
        const sensor = await one.sensor({ device });
        for (const kind of ['fall', 'noise', 'helpCall']) await sensor.raise(1, { kind });
        await sensor.publish('door', JSON.stringify({ round }));
        await sensor.publish('battery/level', JSON.stringify({ round }));
        await sensor.end();
      }
    }
    for (const [prefix, [, ofHere, ofThere]] of Object.entries(rows)) {
      const seen = (device: { id: string }) =>
        topics(`${prefix}/`)
          .filter((topic) => topic.includes(device.id) && !topic.endsWith('/status'))
          .map(rest)
          .toSorted();
      const twice = (kinds: readonly string[]) => kinds.flatMap((kind) => [kind, kind]);
      await expect
        .poll(() => [prefix, seen(devices[0]), seen(devices[1])])
        .toEqual([prefix, twice(ofHere), twice(ofThere)]);
    }
    for (const kind of ['fall', 'door', 'battery/level']) {
      await expect.poll(() => topics('x/')).toContain(`${kind}/${devices[0].id}/${here}/y`);
    }
  });

  test('at the configured QoS and protocol version, and retained if configured', async ({
    home,
    own,
  }) => {
    const broker = await mosquitto(own);
    const upstream = await clientAt(home, broker);
    await upstream.subscribe('#', { qos: 2 });
    const rows = (['3.1.1', 5] as const).flatMap((protocol) =>
      ([0, 1, 2] as const).map((qos) => ({ protocol, qos })),
    );
    const nameOf = ({ protocol, qos }: (typeof rows)[number]) =>
      nameIn(home, `p${protocol === 5 ? 5 : 2}-${qos}`);
    for (const row of rows) {
      const name = nameOf(row);
      await bridge(
        home,
        broker.url,
        { ...row, clientId: name, topic: `${name}/{kind}`, send: 'alarms', retain: true },
        name,
      );
      await untilBridge(home, name, { connected: true });
    }
    const sensor = await home.sensor();
    const ids = (await sensor.raise(5)).map(({ id }) => id);
    for (const row of rows) {
      const name = nameOf(row);
      const came = () => upstream.received.filter(({ topic }) => topic === `${name}/fall`);
      await expect.poll(() => came().map(({ text }) => JSON.parse(text).id)).toEqual(ids);
      expect(new Set(came().map(({ qos }) => qos))).toEqual(new Set([row.qos]));
      // Mosquitto's log calls 3.1.1 "p2" and 5 "p5".
      expect(broker.lines.join('\n')).toContain(`as ${name} (${name.slice(0, 2)}, c1, k30`);
    }
    const later = await clientAt(home, broker);
    await later.subscribe('#');
    await later.ping();
    expect(later.received.map(({ retain, text }) => [retain, JSON.parse(text).id])).toEqual(
      rows.map(() => [true, ids[4]]),
    );
  });

  test('the properties of MQTT 5, in both directions', async ({ home, own }) => {
    const properties = {
      payloadFormatIndicator: true,
      contentType: 'application/json',
      responseTopic: 'answers/here',
      correlationData: Buffer.from([1, 0, 255]),
      userProperties: { unit: 'C', floor: ['1', '2'] },
    };
    const broker = await mosquitto(own);
    const name = await bridge(home, broker.url, { commands: ['#'] });
    await untilBridge(home, name, { connected: true });
    const device = await home.device();
    const upstream = await clientAt(home, broker, { protocolVersion: 5 });
    await upstream.subscribe([home.filter(device, 'alarms/#'), home.filter(device, 'values')]);
    const sensor = await home.client(device, { protocolVersion: 5 });
    await sensor.subscribe(`devices/${device.id}/commands/#`);
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', { properties });
    expect(await upstream.next('publish')).toMatchObject({ properties });
    await sensor.publish(`devices/${device.id}/values`, '21', { properties });
    expect(await upstream.next('publish')).toMatchObject({ properties });
    await upstream.publish(home.filter(device, 'commands/ring'), 'on', { properties });
    expect(await sensor.next('publish')).toMatchObject({ payload: Buffer.from('on'), properties });
  });

  test('[MQTT-2.3.1-2] no message has the packet identifier of the SUBSCRIBE', async ({
    home,
    own,
  }) => {
    const { upstream, url, publishes } = await scripted(own);
    // Sets where the identifiers of messages begin; those of mqtt.js begin a little higher.
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5).mockReturnValueOnce(0.4999);
    const name = await bridge(home, url, { commands: ['#'], send: 'alarms' });
    await untilBridge(home, name, { connected: true });
    random.mockRestore();
    const sensor = await home.sensor();
    await sensor.raise(30);
    await untilBridge(home, name, { delivered: 30 });
    const given = publishes.map(({ messageId = 0 }) => messageId);
    const [subscribe] = upstream.packets.filter(({ cmd }) => cmd === 'subscribe');
    expect(subscribe?.messageId).toBeGreaterThan(Math.min(...given));
    expect(subscribe?.messageId).toBeLessThan(Math.max(...given));
    expect(given).not.toContain(subscribe?.messageId);
  });

  test('two gateways with one configuration do not take over each other’s session', async ({
    own,
  }) => {
    const broker = await mosquitto(own);
    const { url } = broker;
    const config = { bridges: [{ name: 'region', url, send: 'alarms' }] };
    const homes = [await own.home({ config }), await own.home({ config })];
    for (const home of homes) {
      const sensor = await home.sensor();
      await sensor.raise(3);
      await untilBridge(home, 'region', { connected: true, delivered: 3, lastError: null });
    }
    for (const home of homes)
      await untilBridge(home, 'region', { connected: true, lastError: null });
    expect(broker.lines.join()).not.toContain('already connected');
  });

  test('a message whose topic upstream is too long for MQTT becomes a dead letter', async ({
    home,
    own,
  }) => {
    const { url, topics } = await scripted(own);
    const name = await bridge(home, url, {
      topic: '{topic}'.repeat(140),
      filters: ['+/+/devices/+/values/#', '+/+/devices/+/x'],
    });
    const sensor = await home.sensor();
    await sensor.publish(`values/${'x'.repeat(500)}`, '1');
    await sensor.publish('x', '1');
    await untilBridge(home, name, {
      queued: 0,
      delivered: 1,
      dropped: { refused: 1 },
      connected: true,
    });
    expect(topics()).toHaveLength(1);
  });
});

describe('commands from upstream', () => {
  /** A device that is connected, and an upstream that may command it. */
  async function commanded(home: Home, url: string, keys: object = {}) {
    const name = await bridge(home, url, { commands: ['#'], ...keys });
    const device = await home.device();
    const sensor = await home.client(device, { clientId: device.id, clean: false });
    await sensor.subscribe(`devices/${device.id}/commands/#`);
    await untilBridge(home, name, { connected: true });
    const commands = () =>
      sensor.received.map(({ topic, text }) => [topic.split('/').slice(3).join('/'), text]);
    return { name, device, sensor, commands };
  }

  function command(
    device: { id: string },
    what: string,
    messageId: number,
    payload: string | Buffer = 'on',
  ) {
    return {
      ...publishPacket(`devices/${device.id}/commands/${what}`, payload),
      qos: 1 as const,
      messageId,
    };
  }

  const acknowledged = ({ packets }: ScriptedUpstream) =>
    packets.flatMap((packet) => (packet.cmd === 'puback' ? [packet.messageId] : []));

  test('reach their device like those of a manager, and nothing else does', async ({
    home,
    own,
  }) => {
    const broker = await mosquitto(own);
    const other = await clientAt(home, broker);
    const { device, commands } = await commanded(home, broker.url);
    const elsewhere = await own.homeAt(home.gateway, 'Elsewhere');
    await other.publish(home.filter(device, 'commands/light/2'), 'on');
    await other.publish(`site-7/devices/${device.id}/commands/door`, 'shut');
    await other.publish(elsewhere.filter(device, 'commands/x'), 'foreign');
    await other.publish(home.filter(device, 'alarms/fall'), '{}');
    await other.publish(`devices/${elsewhere.locationId}/commands/x`, 'nobody');
    await other.publish(`devices/nobody/commands/x`, 'nobody');
    await other.publish(`devices/${device.id}/commands/last`, '');
    await expect.poll(commands).toEqual([
      ['light/2', 'on'],
      ['door', 'shut'],
      ['last', ''],
    ]);
  });

  test('sent while the gateway is down are not lost', async ({ own }) => {
    const broker = await mosquitto(own);
    const home = await own.home();
    const { device, sensor } = await commanded(home, broker.url);
    sensor.vanish();
    await home.gateway.stop();
    await (await clientAt(home, broker)).publish(`devices/${device.id}/commands/light`, 'on');
    await home.gateway.start();
    const again = await home.client(device, { clientId: device.id, clean: false });
    expect(await again.next('publish')).toMatchObject({
      topic: `devices/${device.id}/commands/light`,
    });
  });

  test.for(['3.1.1', 5] as const)(
    'are not what the bridge itself sent, with MQTT %s',
    async (protocol, { home, own }) => {
      const broker = await mosquitto(own);
      const { name, device, commands } = await commanded(home, broker.url, { protocol });
      const sensor = await home.sensor();
      await sensor.raise(3);
      // The upstream would send it back as a command to the other device.
      await sensor.publish(`x/devices/${device.id}/commands/light`, '1');
      await sensor.publish('door', '1');
      await untilBridge(home, name, { queued: 0, dropped: { refused: 1 } });
      await (await clientAt(home, broker)).publish(`devices/${device.id}/commands/last`, '');
      await expect.poll(commands).toEqual([['last', '']]);
      const letters = await home.must('GET', `/bridges/${name}/dead-letters`);
      expect(letters.list().map(({ topic }) => topic)).toEqual([
        home.filter(sensor.device, `x/devices/${device.id}/commands/light`),
      ]);
    },
  );

  test('of one upstream do not go to another', async ({ home, own }) => {
    const [one, two] = [await scripted(own), await scripted(own)];
    const { device, commands } = await commanded(home, one.url);
    const other = await bridge(home, two.url, { commands: ['#'] }, nameIn(home, 'other'));
    await untilBridge(home, other, { connected: true });
    one.upstream.send(command(device, 'light', 1));
    await expect.poll(commands).toEqual([['light', 'on']]);
    await (await home.sensor()).raise(1);
    await expect
      .poll(() => two.topics().some((topic) => topic.endsWith('/alarms/fall')))
      .toBe(true);
    expect(
      [...one.topics(), ...two.topics()].filter((topic) => topic.includes('commands')),
    ).toEqual([]);
  });

  test('are acknowledged once they are stored, in order; unwanted and too large ones are dropped', async ({
    own,
  }) => {
    const { upstream, url } = await scripted(own);
    const home = await own.home({ env: { GATEWAY_MQTT_MAX_PACKET_BYTES: '20000' } });
    const keys = { protocol: '3.1.1', commands: ['$share/site/+/+/commands/a/#'] };
    const { device, commands } = await commanded(home, url, keys);
    const store = await home.store();
    store.freeze();
    upstream.send(command(device, 'a/1', 1));
    upstream.send(command(device, 'b', 2));
    upstream.send(command(device, 'a/large', 3, Buffer.alloc(20_000)));
    upstream.send(command(device, 'a/2', 4));
    await home.gateway.logged('too large');
    expect(acknowledged(upstream)).not.toContain(1);
    store.thaw();
    await expect.poll(() => acknowledged(upstream)).toEqual([1, 2, 3, 4]);
    await expect.poll(commands).toEqual([
      ['a/1', 'on'],
      ['a/2', 'on'],
    ]);
  });

  test('more at once than may wait slow the upstream down, and all arrive in order', async ({
    home,
    own,
  }) => {
    const { upstream, url } = await scripted(own);
    const { device, commands } = await commanded(home, url);
    const numbers = Array.from({ length: 200 }, (_, n) => String(n));
    for (const n of numbers)
      upstream.send({ ...publishPacket(`devices/${device.id}/commands/${n}`, 'on') });
    await expect.poll(() => commands().map(([what]) => what)).toEqual(numbers);
  });

  test('of many bytes together are taken; a WebSocket frame far over the limit is not', async ({
    home,
    own,
  }) => {
    const { upstream, url } = await scripted(own);
    const { device, commands } = await commanded(home, url, { protocol: '3.1.1' });
    const one = generate(publishPacket(`devices/${device.id}/commands/x`, Buffer.alloc(9_000)));
    upstream.sendBytes(Buffer.concat(Array.from({ length: 300 }, () => one)));
    await expect.poll(() => commands().length).toBe(300);

    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    own.onEnd(() => server.close());
    const closed: number[] = [];
    server.on('connection', (socket) => {
      socket.on('close', (code) => closed.push(code));
      socket.once('message', () => {
        socket.send(generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
        socket.send(generate(publishPacket('x', Buffer.alloc(20 * MIB))));
      });
    });
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const name = await bridge(
      home,
      `ws://127.0.0.1:${port}`,
      { protocol: '3.1.1', commands: ['#'] },
      nameIn(home, 'ws'),
    );
    await expect
      .poll(() => faultsOf(home, name))
      .toEqual(['A bridge is down: the upstream sends packets far over the limit']);
    // "Message too big" (RFC 6455, 7.4.1): the announced length was enough.
    await expect.poll(() => closed).toEqual([1009]);
  });

  test('of a bridge that is removed: it counts what is acknowledged as it ends, and disconnects', async ({
    home,
    own,
  }) => {
    const { upstream, url, publishes } = await scripted(own, { onPublish: () => 'nothing' });
    const { name, device, commands } = await commanded(home, url, {
      send: 'alarms',
      ackTimeoutSeconds: 30,
    });
    await (await home.sensor()).raise(2);
    await expect.poll(() => publishes).toHaveLength(2);
    upstream.send(command(device, 'door', 9));
    await expect.poll(commands).toEqual([['door', 'on']]);
    const removed = Bridges.of(home.gateway).delete(name);
    for (const { messageId = 0 } of publishes)
      upstream.send({ cmd: 'puback', messageId, reasonCode: 0 });
    await removed;
    await expect.poll(() => upstream.connections).toBe(0);
    expect(upstream.packets.at(-1)?.cmd).toBe('disconnect');
    expect(acknowledged(upstream)).toEqual([9]);
    await untilBridge(home, name, { ...MISSING, queued: 0, delivered: 2 });
  });
});

describe('what the operator sees', () => {
  test('a bridge on its retained topic, over HTTP, in the metrics and as a fault', async ({
    home,
    own,
  }) => {
    const broker = await mosquitto(own);
    const filters = ['+/+/devices/+/alarms/#', '+/+/devices/+/temperature'];
    const name = await bridge(home, broker.url, { filters, maxQueuedMessages: 10 });
    await untilBridge(home, name, {
      connected: true,
      lastAcknowledgedAt: null,
      delivered: 0,
      lastError: null,
    });
    const topic = `gateway/bridges/${name}/status`;
    const admin = await home.client({ id: 'admin', token: ADMIN_TOKEN });
    await admin.subscribe(topic);
    await expect.poll(() => admin.messages(topic).at(-1)).toMatchObject({ name, connected: true });
    expect(await home.client(home.manager).then((one) => one.subscribe(topic))).toEqual([0x80]);
    const sensor = await home.sensor();
    await sensor.raise(3);
    await untilBridge(home, name, {
      delivered: 3,
      queued: 0,
      oldestQueuedAt: null,
      lastAcknowledgedAt: expect.any(String),
    });

    await broker.stop();
    await expect.poll(() => admin.messages(topic).at(-1)).toMatchObject({ connected: false });
    await expect
      .poll(() => faultsOf(home, name))
      .toEqual(['A bridge is down: the upstream cannot be reached']);
    // Alarms leave a queue by age only, so all twelve stay although the bound is lower (contract 4.6).
    await sensor.raise(12);
    for (let n = 0; n < 12; n++) await sensor.publish('temperature', String(n));
    const dropped = { tooMany: 2, tooOld: 0, refused: 0, lost: 0 };
    await untilBridge(home, name, {
      connectedSince: null,
      queued: 22,
      delivered: 3,
      dropped,
      lastError: { kind: 'unreachable' },
    });
    const { lastAcknowledgedAt, oldestQueuedAt } = await bridgeOf(home, name);
    const accounts = [
      await home.account(`bridge/${name}`, 'alarms'),
      await home.account(`bridge/${name}`, 'messages'),
    ];
    expect(accounts).toEqual([
      { accepted: 15, delivered: 3, queued: 12, expired: 0, dropped: 0 },
      { accepted: 12, delivered: 0, queued: 10, expired: 0, dropped: 2 },
    ]);
    const { text } = await home.must('GET', '/metrics');
    expect(text).toContain(`gateway_bridge_connected{bridge="${name}"} 0\n`);
    expect(text).toContain(`gateway_bridge_dropped_total{bridge="${name}",reason="too_many"} 2\n`);
    expect(text).toMatch(
      new RegExp(
        `^gateway_bridge_last_error_timestamp_seconds{bridge="${name}",kind="unreachable"} \\d`,
        'm',
      ),
    );
    for (const [metric, time] of [
      ['last_acknowledged', lastAcknowledgedAt],
      ['oldest_queued', oldestQueuedAt],
    ]) {
      const sample = new RegExp(
        `^gateway_bridge_${metric}_timestamp_seconds{bridge="${name}"} (.*)$`,
        'm',
      );
      expect(Number(sample.exec(text)?.[1])).toBeCloseTo(Date.parse(String(time)) / 1_000, 2);
    }
    await broker.start();
    await untilBridge(home, name, { connected: true, delivered: 25, queued: 0, dropped });
    await expect.poll(() => faultsOf(home, name)).toEqual([]);
  });

  test('a message that cannot be delivered, and others see nothing of it', async ({
    home,
    own,
  }) => {
    const { url } = await scripted(own, { onPublish: () => 'hang up' });
    const name = await bridge(home, url, { send: 'alarms' });
    const elsewhere = await own.homeAt(home.gateway, 'Haus am Wald');
    const outsider = await elsewhere.client(elsewhere.viewer);
    await outsider.subscribe('gateway/status');
    const sensor = await home.sensor({ device: await home.device('Bett am Fenster') });
    await home.customData(sensor.device, '{"diagnosis":"Parkinson"}');
    const [alarm] = await sensor.raise(1, { kind: 'noise', loudness: 'screaming' });
    const fault =
      'A bridge cannot deliver a message: the upstream refuses it, or closes the connection at it';
    await expect.poll(() => outsider.received.some(({ text }) => text.includes(fault))).toBe(true);
    await expect.poll(() => faultsOf(home, name)).toContain(fault);
    const seen = outsider.received.map(({ text }) => text).join('\n');
    for (const secret of [
      alarm?.id,
      sensor.device.id,
      home.locationId,
      name,
      url,
      'Parkinson',
      'screaming',
      'noise',
      'Fenster',
    ]) {
      expect(seen).not.toContain(secret);
    }
  });

  test('the state while the store is away; then each refused message once among the dead letters', async ({
    own,
  }) => {
    const { upstream, url, publishes } = await scripted(own, {
      onPublish: (_, connection) => (connection === 1 ? 'nothing' : 135),
    });
    const home = await own.home();
    const name = await bridge(home, url, { send: 'alarms', ackTimeoutSeconds: 30 });
    const sensor = await home.sensor();
    await sensor.raise(2, { kind: 'fall', id: undefined });
    await expect.poll(() => publishes).toHaveLength(2);
    // While the store is away, the figure is the one last read.
    await untilBridge(home, name, { queued: 2 });
    const store = await home.store();
    store.freeze();
    await untilBridge(home, name, { queued: 2, oldestQueuedAt: null });
    store.thaw();
    // It refuses writes, as on a full disk.
    await store.redis.config('SET', 'min-replicas-to-write', '1');
    for (const count of [4, 6]) {
      upstream.hangUp();
      await expect.poll(() => publishes.length).toBe(count);
    }
    await home.gateway.logged('failed to store a dead letter');
    await untilBridge(home, name, { queued: 2, dropped: { refused: 0 } });
    await store.redis.config('SET', 'min-replicas-to-write', '0');
    await untilBridge(home, name, { queued: 0, dropped: { refused: 2 } });
    expect((await home.must('GET', `/bridges/${name}/dead-letters`)).list()).toHaveLength(2);
    expect(home.gateway.log.count('failed to store a dead letter')).toBe(1);
  });
});

describe('the configuration', () => {
  test('guarantee 5: a reload adds, changes and removes bridges, and disturbs no others', async ({
    home,
    own,
  }) => {
    const { url, publishes, topics } = await scripted(own);
    const names = {
      kept: nameIn(home, 'kept'),
      changing: nameIn(home, 'changing'),
      leaving: nameIn(home, 'leaving'),
      added: nameIn(home, 'added'),
    };
    const set = (of: keyof typeof names, topic: string = of) =>
      bridge(home, url, { topic: `${topic}/{kind}`, send: 'alarms' }, names[of]);
    await set('kept');
    await set('changing', 'before');
    await set('leaving');
    for (const of of ['kept', 'changing', 'leaving'] as const)
      await untilBridge(home, names[of], { connected: true });
    const { connectedSince } = await bridgeOf(home, names.kept);
    const nurse = await home.nurse();
    const sensor = await home.sensor();
    await sensor.raise(1, { kind: 'fall' });
    await expect
      .poll(() => topics().toSorted())
      .toEqual(['before/fall', 'kept/fall', 'leaving/fall']);

    await set('added');
    await set('changing', 'after');
    await Bridges.of(home.gateway).delete(names.leaving);
    for (const of of ['added', 'changing'] as const)
      await untilBridge(home, names[of], { connected: true });
    await sensor.raise(1, { kind: 'noise' });
    await expect
      .poll(() =>
        topics()
          .filter((topic) => topic.endsWith('noise'))
          .toSorted(),
      )
      .toEqual(['added/noise', 'after/noise', 'kept/noise']);
    expect(publishes).toHaveLength(6);
    await untilBridge(home, names.kept, { connected: true, connectedSince });
    // The queue belongs to the name.
    await untilBridge(home, names.changing, { queued: 0, delivered: 2 });
    await untilBridge(home, names.leaving, { ...MISSING, queued: 1 });
    await expect.poll(() => faultsOf(home, names.leaving)).toEqual([IS_MISSING]);
    await home.settled();
    expect(nurse.client.isClosed).toBe(false);
  });

  test('messages that wait for a bridge reach its new upstream', async ({ home, own }) => {
    const dead = await away(own);
    const name = await bridge(home, dead.url, { send: 'alarms' });
    await (await home.sensor()).raise(20);
    const broker = await mosquitto(own);
    await watcherAt(home, broker.port, name);
    await bridge(home, broker.url, { send: 'alarms' });
    await untilBridge(home, name, { connected: true, delivered: 20, queued: 0 });
  });

  const untilLogged = async ({ gateway }: Home, content: object | string, text: RegExp) => {
    const from = gateway.lines.length;
    await gateway.configure(content);
    await gateway.reload();
    return gateway.logged(text, from);
  };

  test('a file that is being written or faulty changes nothing, loses nothing, and says why', {
    timeout: 60_000,
  }, async ({ own }) => {
    const { url, upstream } = await scripted(own);
    const content = { bridges: [{ name: 'region', url, send: 'alarms' }] };
    const home = await own.home({ kind: 'process', config: content });
    const destination = home.ledger.destination('bridge/region', true);
    await untilBridge(home, 'region', { connected: true });
    const sensor = await home.sensor();
    const rows: readonly (readonly [object | string, RegExp])[] = [
      ...['', '# bridges\n', 'null\n', '---\n', 'bridges:\n'].map(
        (text) => [text, /is empty/] as const,
      ),
      [
        { bridges: [{ name: 'region', url: 'http://x', qos: 7 }] },
        /bridges\.0\.url.*bridges\.0\.qos/,
      ],
      ['bridges: [unclosed', /gateway\.yaml/],
    ];
    for (const [text, said] of rows) {
      await untilLogged(home, text, said);
      await sensor.raise(1);
    }
    await untilBridge(home, 'region', { url, connected: true, queued: 0, delivered: rows.length });
    expect([upstream.connections, destination.count]).toEqual([1, 0]);
    // A file without the bridge is none of these.
    await untilLogged(home, 'log:\n  level: info\n', /reloaded the bridges/);
    await sensor.raise(1);
    await untilBridge(home, 'region', { ...MISSING, queued: 1 });
    await untilLogged(home, content, /reloaded the bridges/);
    await untilBridge(home, 'region', { url, queued: 0, delivered: rows.length + 1 });
  });

  test('a gateway whose port is in use connects no bridge, and its bridges queue nothing twice', async ({
    own,
  }) => {
    const { url, upstream } = await scripted(own);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const env = { GATEWAY_MQTT_PORT: String(port) };
    const gateway = await own.gatewayOff({ env, config: { bridges: [{ name: 'region', url }] } });
    await expect(gateway.start()).rejects.toThrow();
    expect(upstream.protocolVersions).toEqual([]);
    taken.close();
    await once(taken, 'close');
    await gateway.start();
    await expect.poll(() => upstream.protocolVersions).toEqual([5]);
  });
});

describe('guarantee 2: a queue', () => {
  const alarmsTo = (url: string, keys: object = {}) => ({
    name: 'region',
    url,
    send: 'alarms',
    ...keys,
  });

  test('outlasts starts without its bridge, or with a typing error in the name', async ({
    own,
  }) => {
    const broker = await away(own);
    const home = await own.home({ config: { bridges: [alarmsTo(broker.url)] } });
    const { gateway } = home;
    const sensor = await home.sensor();
    await sensor.raise(20);
    for (const bridges of [[], [{ ...alarmsTo(broker.url), name: 'regoin' }]]) {
      await gateway.configure({ bridges });
      await gateway.restart();
      await sensor.raise(5);
      await untilBridge(home, 'region', { ...MISSING, oldestQueuedAt: expect.any(String) });
      await expect.poll(() => faultsOf(home, 'region')).toEqual([IS_MISSING]);
    }
    await untilBridge(home, 'region', { queued: 30 });
    await broker.start();
    await watcherAt(home, broker.port, 'region');
    await gateway.configure({ bridges: [alarmsTo(broker.url)] });
    await gateway.restart();
    await untilBridge(home, 'region', { url: broker.url, queued: 0, delivered: 30 });
    expect(await faultsOf(home, 'region')).toEqual([]);
  });

  test('is deleted by an administrator, if its bridge is missing; one of its name starts afresh', async ({
    home,
    own,
  }) => {
    const { url } = await scripted(own, { onPublish: () => 135 });
    const name = await bridge(home, url, { send: 'alarms' });
    const remove = async (of: string) => (await home.ask('DELETE', `/bridges/${of}`)).outcome;
    const letters = () => home.ask('GET', `/bridges/${name}/dead-letters`);
    const sensor = await home.sensor();
    await sensor.raise(1);
    await untilBridge(home, name, { dropped: { refused: 1 } });
    expect([await remove(name), await remove('none')]).toEqual([
      '409 bridge-configured',
      '404 bridge-not-found',
    ]);
    await Bridges.of(home.gateway).delete(name);
    await sensor.raise(3);
    await untilBridge(home, name, { ...MISSING, queued: 3 });
    expect((await letters()).list()).toHaveLength(1);
    expect([await remove(name), await remove(name)]).toEqual(['204', '404 bridge-not-found']);
    expect(await bridgeOf(home, name)).toEqual({});
    expect(await faultsOf(home, name)).toEqual([]);
    expect((await home.must('GET', '/metrics')).text).not.toContain(name);
    const records = (await home.must('GET', '/audit?actions=bridge.deleted')).list('events');
    expect(records.filter(({ resourceId }) => resourceId === name)).toMatchObject([
      { actor: { type: 'access-token' } },
    ]);
    await bridge(home, (await away(own)).url, { send: 'alarms' });
    expect((await letters()).list()).toEqual([]);
    await sensor.raise(1);
    await untilBridge(home, name, { queued: 1, delivered: 0, dropped: { refused: 0 } });
  });

  test('of a missing bridge is forgotten like a session; of one whose upstream is away, never', async ({
    own,
  }) => {
    const { url } = await away(own);
    const [region, other] = [alarmsTo(url), { ...alarmsTo(url), name: 'away' }];
    const env = { GATEWAY_SESSIONS_FORGET_AFTER_DAYS: '2' };
    const home = await own.home({ env, isHurried: true, config: { bridges: [other, region] } });
    const { gateway } = home;
    const { clock } = gateway;
    await (await home.sensor({ keepalive: 0 })).raise(1);
    await clock.advance(3 * DAY_MS);
    await gateway.configure({ bridges: [other] });
    await gateway.reload();
    await clock.advance(DAY_MS);
    await untilBridge(home, 'region', { ...MISSING, queued: 1 });
    await clock.advance(2 * DAY_MS);
    const names = async () => (await home.must('GET', '/bridges')).list().map(({ name }) => name);
    await expect.poll(names).toEqual(['away']);
    await untilBridge(home, 'away', { queued: 1 });
  });

  test('marks alarms late after a minute, and drops what is older than its hours', async ({
    own,
  }) => {
    const broker = await away(own);
    const keys = { maxQueuedHours: 1, topic: 'short/{topic}' };
    const bridges = [alarmsTo(broker.url), { ...alarmsTo(broker.url, keys), name: 'short' }];
    const home = await own.home({ isHurried: true, config: { bridges } });
    const sensor = await home.sensor({ keepalive: 0 });
    await sensor.raise(5);
    await home.gateway.clock.advance(2 * HOUR_MS);
    await expect
      .poll(() => home.account('bridge/short', 'alarms'))
      .toEqual({ accepted: 5, delivered: 0, queued: 0, expired: 5, dropped: 0 });
    await sensor.raise(5);
    await untilBridge(home, 'short', {
      queued: 5,
      dropped: { tooOld: 5, tooMany: 0, refused: 0, lost: 0 },
    });
    await broker.start();
    const watcher = await watcherAt(home, broker.port, 'region', '#');
    await untilBridge(home, 'short', { queued: 0, delivered: 5 });
    await untilBridge(home, 'region', { queued: 0, delivered: 10 });
    await watcher.until(({ received }) => received.length === 15);
    const late = (prefix: string) =>
      watcher.received.flatMap(({ topic, text }) =>
        topic.startsWith(prefix) ? [JSON.parse(text).late] : [],
      );
    expect(late('short/')).toEqual(Array(5).fill(false));
    expect(late('care-homes/')).toEqual([...Array(5).fill(true), ...Array(5).fill(false)]);
  });

  test('of a dead upstream keeps every alarm beyond its bound, and delays no other bridge', async ({
    home,
    own,
  }) => {
    const name = await bridge(
      home,
      (await away(own)).url,
      { send: 'alarms', maxQueuedMessages: 20 },
      nameIn(home, 'dead'),
    );
    const { url, topics } = await scripted(own);
    await bridge(home, url, { send: 'alarms' });
    const sensor = await home.sensor();
    for (let n = 1; n <= 40; n++) {
      await sensor.raise(1);
      await expect.poll(topics, { interval: 5 }).toHaveLength(n);
    }
    await untilBridge(home, name, {
      queued: 40,
      dropped: { tooMany: 0, tooOld: 0, refused: 0, lost: 0 },
    });
  });

  test('survives a stop, and a kill in the middle of its replay; states follow their alarms', {
    timeout: 60_000,
  }, async ({ own }) => {
    const broker = await away(own);
    const keys = {
      maxInFlight: 10,
      ackTimeoutSeconds: 1,
      filters: ['+/+/devices/+/alarms/#', '+/+/devices/+/alarm-states/#'],
    };
    const home = await own.home({
      kind: 'process',
      config: { bridges: [{ name: 'region', url: broker.url, ...keys }] },
    });
    const sensor = await home.sensor();
    const [first] = await sensor.raise(100);
    for (const change of ['acknowledge', 'resolve'])
      await home.must('POST', `./alarms/${first?.id}/${change}`);
    await home.gateway.restart();
    await untilBridge(home, 'region', { queued: 102 });
    await broker.start();
    const watcher = await watcherAt(home, broker.port, 'region', home.filter());
    await watcher.until(({ received }) => received.length > 30);
    await home.gateway.kill();
    await home.gateway.start();
    await sensor.raise(10);
    await untilBridge(home, 'region', { queued: 0 });
    const ids = (await home.alarms(sensor.device)).map(({ id }) => id).toReversed();
    expect([...new Set(watcher.messages('/alarms/').map(({ id }) => id))]).toEqual(ids);
    const all = { accepted: 112, delivered: 112, queued: 0, expired: 0, dropped: 0 };
    expect(await home.account('bridge/region', 'alarms')).toEqual(all);
    const states = watcher.messages('/alarm-states/').map(({ id, state }) => [id, state]);
    expect(states.slice(-2)).toEqual([
      [first?.id, 'acknowledged'],
      [first?.id, 'resolved'],
    ]);
  });

  test('guarantee 3: alarms go before telemetry, which ends with the gateway', async ({ own }) => {
    const broker = await away(own);
    const home = await own.home({ config: { bridges: [] } });
    const filters = ['+/+/devices/+/alarms/#', '+/+/devices/+/t'];
    const name = await bridge(home, broker.url, { filters });
    const sensor = await home.sensor();
    await sensor.publish('t', '{"n":0}');
    await sensor.raise(40);
    await home.gateway.restart();
    const again = await home.sensor({ device: sensor.device, clientId: 'again' });
    for (let n = 1; n < 20; n++) await again.publish('t', `{"n":${n}}`);
    await untilBridge(home, name, { queued: 59 });
    await broker.start();
    const watcher = await watcherAt(home, broker.port, name, home.filter());
    await untilBridge(home, name, { queued: 0 });
    await watcher.until(({ received }) => received.length === 59);
    const rests = watcher.received.map(({ topic }) => rest(topic));
    expect(rests.lastIndexOf('alarms/fall')).toBeLessThan(rests.indexOf('t'));
  });

  test.for(['new', 'removed'])(
    'of a bridge that is %s needs no write at the start: the store may be full',
    async (change, { own }) => {
      const { url } = await away(own);
      const [before, after] = change === 'new' ? [[], [alarmsTo(url)]] : [[alarmsTo(url)], []];
      const home = await own.home({ kind: 'process', config: { bridges: before } });
      await home.gateway.kill();
      // Its store runs on.
      const { redis } = await home.store();
      await redis.config('SET', 'min-replicas-to-write', '1');
      await home.gateway.configure({ bridges: after });
      await home.gateway.start();
      await redis.config('SET', 'min-replicas-to-write', '0');
      const sensor = await home.sensor();
      await expect
        .poll(async () => (await bridgeOf(home, 'region'))['url'])
        .toBe(change === 'new' ? url : null);
      await sensor.raise(1);
      await untilBridge(home, 'region', { queued: 1 });
    },
  );
});
