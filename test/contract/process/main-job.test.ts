import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, type TestDevice, type TestToken } from '../../former/clients/api.js';
import { CommandLine, mosquittoPub, mosquittoSub } from '../../former/clients/commands.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';

let gateway: GatewayProcess;
let api: Api;
let locationId: string;
let viewer: TestToken;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
  api = new Api(gateway);
  locationId = (await api.createLocation()).id;
  viewer = await api.viewer(locationId);
});

afterAll(() => gateway.remove());

/** The place and custom data that every forwarded message of the device has. */
function forwarded(device: TestDevice, customData: object = {}) {
  return {
    device: { id: device.id, name: device.name },
    location: { id: locationId, name: 'Haus am See' },
    room: null,
    group: null,
    customData,
  };
}

function payloadOf(line: string): unknown {
  return JSON.parse(line.slice(line.indexOf('{')));
}

const CUSTOM_DATA = '{"room":"7a","ref":12345678901234567890,"price":1.10,"__proto__":{}}';

describe('an alarm from mosquitto_pub', () => {
  it.each(['0', '1', '2'])('at QoS %s reaches mosquitto_sub at QoS 1, enriched', async (qos) => {
    const device = await api.createDevice(locationId, 'Bett 7');
    await api.setCustomData(device, CUSTOM_DATA);
    const nurse = await mosquittoSub(gateway, viewer, `care-homes/${locationId}/#`);
    const alarm = '{"kind":"fall","detectedAt":"2026-11-20T10:00:00Z","confidence":0.90}';
    expect(await mosquittoPub(gateway, device, 'alarms', alarm, '-q', qos).exit()).toBe(0);

    const line = await nurse.line(`/alarms/fall 1 0 `);
    expect(line).toContain(`care-homes/${locationId}/devices/${device.id}/alarms/fall`);
    expect(line).toContain('"data":{"confidence":0.90}');
    expect(line).toContain(`"customData":${CUSTOM_DATA}`);
    expect(payloadOf(line)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: 'fall',
      detectedAt: '2026-11-20T10:00:00.000Z',
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      late: false,
      footage: [],
      data: { confidence: 0.9 },
      ...forwarded(device, JSON.parse(CUSTOM_DATA)),
    });
    await nurse.end();
    const { events } = await api.alarms(device);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ kind: 'fall', detectedAt: '2026-11-20T10:00:00.000Z' });
  });

  it('is the same alarm when published again', async () => {
    const device = await api.createDevice(locationId);
    const alarm = '{"kind":"noise","detectedAt":"2026-11-20T10:00:00Z"}';
    for (const _ of [1, 2, 3]) {
      expect(await mosquittoPub(gateway, device, 'alarms', alarm, '-q', '1').exit()).toBe(0);
    }
    expect((await api.alarms(device)).events).toHaveLength(1);
  });
});

describe('mosquitto_pub and mosquitto_sub with MQTT 5', () => {
  it('pass an alarm with its properties, and show why a publish is denied', async () => {
    const device = await api.createDevice(locationId);
    const filter = `care-homes/${locationId}/devices/${device.id}/alarms/#`;
    const nurse = await mosquittoSub(gateway, viewer, filter, '-V', '5', '-F', '%t %P %p');
    const five = ['-V', '5', '-q', '1', '-D', 'publish', 'user-property', 'unit', 'C'];
    expect(await mosquittoPub(gateway, device, 'alarms', '{"kind":"fall"}', ...five).exit()).toBe(
      0,
    );
    expect(await nurse.line('/alarms/fall unit:C ')).toContain('"kind":"fall"');
    const denied = mosquittoPub(gateway, device, 'x', '1', ...five, '-t', 'elsewhere');
    await denied.line('Not authorized');
    await denied.exit();
    await nurse.end();
  });
});

describe('other messages', () => {
  it('carry the JSON value unchanged, or the bytes', async () => {
    const device = await api.createDevice(locationId);
    const nurse = await mosquittoSub(gateway, viewer, `care-homes/${locationId}/devices/+/t/#`);
    await mosquittoPub(gateway, device, 't/json', '[1.10, 9007199254740993]', '-q', '1').exit();
    await mosquittoPub(gateway, device, 't/text', 'no json', '-q', '1').exit();
    expect(await nurse.line('/t/json 1 0 ')).toContain('"data":[1.10, 9007199254740993],');
    expect(payloadOf(await nurse.line('/t/text 1 0 '))).toEqual({
      receivedAt: expect.any(String),
      base64: Buffer.from('no json').toString('base64'),
      ...forwarded(device),
    });
    await nurse.end();
  });
});

describe('a device with paho', () => {
  it.each(['3.1.1', '5'])(
    'gets every alarm acknowledged, forwarded and recorded with %s',
    async (version) => {
      const device = await api.createDevice(locationId);
      const nurse = await Subscriber.connect(gateway, viewer);
      await nurse.subscribe(`care-homes/${locationId}/devices/${device.id}/alarms/#`);
      const kinds = ['fall', 'noise', 'helpCall'];
      const input = kinds.map((kind) => JSON.stringify({ kind })).join('\n');
      const port = String(gateway.mqttPort);
      const paho = new CommandLine(
        '/usr/bin/python3',
        [
          'test/former/clients/paho-device.py',
          port,
          device.id,
          device.secret,
          `devices/${device.id}/alarms`,
          version,
        ],
        `${input}\n`,
      );
      expect(await paho.exit()).toBe(0);
      expect(paho.lines).toEqual(kinds.map((_, index) => `acknowledged ${index + 1}`));
      await nurse.untilCount(3);
      expect(nurse.messages().map(({ kind }) => kind)).toEqual(kinds);
      const { events } = await api.alarms(device, '?order=asc');
      expect(events.map(({ kind }) => kind)).toEqual(kinds);
      await nurse.end();
    },
  );
});

describe('custom data', () => {
  it('is in every message accepted after PATCH has answered', async () => {
    const device = await api.createDevice(locationId);
    const nurse = await Subscriber.connect(gateway, viewer);
    await nurse.subscribe(`care-homes/${locationId}/devices/${device.id}/alarms/#`);
    const sensor = await connectDevice(gateway, device);
    for (let version = 1; version <= 20; version++) {
      await api.setCustomData(device, JSON.stringify({ version }));
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    }
    await nurse.untilCount(20);
    expect(nurse.messages().map(({ customData }) => customData)).toEqual(
      Array.from({ length: 20 }, (_, index) => ({ version: index + 1 })),
    );
    await sensor.endAsync();
    await nurse.end();
  });
});

const DEVICES = 60;

describe(`${DEVICES} devices publishing at once`, () => {
  it('have each alarm forwarded once, with the correct custom data', async () => {
    const home = await api.createLocation('Big house');
    const token = await api.viewer(home.id);
    const devices = await Promise.all(
      Array.from({ length: DEVICES }, async (_, index) => {
        const device = await api.createDevice(home.id, `Bett ${index}`);
        await api.setCustomData(device, JSON.stringify({ bed: index }));
        return device;
      }),
    );
    const nurse = await Subscriber.connect(gateway, token);
    await nurse.subscribe(`care-homes/${home.id}/devices/+/alarms/#`);
    const sensors = await Promise.all(devices.map((device) => connectDevice(gateway, device)));
    const perDevice = 5;
    await Promise.all(
      sensors.flatMap((sensor, index) =>
        Array.from({ length: perDevice }, (_, number) =>
          sensor.publishAsync(
            `devices/${devices[index]?.id}/alarms`,
            JSON.stringify({ kind: 'fall', number }),
            { qos: 1 },
          ),
        ),
      ),
    );
    // Live copies, which come first on a busy machine, do not count.
    const stored = () => nurse.received.filter(({ qos }) => qos === 1);
    await nurse.until(() => stored().length >= DEVICES * perDevice);
    const seen = stored()
      .map(({ text }) => JSON.parse(text))
      .map((message) => JSON.stringify([message.device, message.customData, message.data]));
    const expected = devices.flatMap((device, bed) =>
      Array.from({ length: perDevice }, (_, number) =>
        JSON.stringify([{ id: device.id, name: device.name }, { bed }, { number }]),
      ),
    );
    expect(seen.toSorted()).toEqual(expected.toSorted());
    for (const device of devices.slice(0, 5)) {
      expect((await api.alarms(device)).events).toHaveLength(perDevice);
    }
    await Promise.all([...sensors.map((sensor) => sensor.endAsync()), nurse.end()]);
  });
});

describe('after a kill', () => {
  it('keeps everything', async () => {
    const device = await api.createDevice(locationId, 'Bett 9');
    await api.setCustomData(device, '{"ref":9}');
    const session = { clientId: 'nurse', clean: false };
    const first = await Subscriber.connect(gateway, viewer, session);
    await first.subscribe(`care-homes/${locationId}/devices/${device.id}/alarms/#`);
    await first.end();
    await mosquittoPub(gateway, device, 'alarms', '{"kind":"fall"}', '-q', '1').exit();

    await gateway.kill();
    await gateway.start();

    await mosquittoPub(gateway, device, 'alarms', '{"kind":"helpCall"}', '-q', '1').exit();
    const second = await Subscriber.connect(gateway, viewer, session);
    await second.untilCount(2);
    expect(second.messages()).toMatchObject([
      { kind: 'fall', ...forwarded(device, { ref: 9 }) },
      { kind: 'helpCall', ...forwarded(device, { ref: 9 }) },
    ]);
    const { events } = await api.alarms(device);
    expect(events.map(({ kind }) => kind)).toEqual(['helpCall', 'fall']);
    await second.end();
  });
});

describe('the log of the gateway', () => {
  it('contains no secret, token or custom data', async () => {
    const device = await api.createDevice(locationId);
    await api.setCustomData(device, '{"resident":"Frau Geheim"}');
    await mosquittoPub(gateway, device, 'alarms', '{"kind":"fall"}', '-q', '1').exit();
    // The sensor has gone, so the log has everything about its alarm.
    await gateway.logged(new RegExp(`device:${device.id}.*"msg":"disconnected"`));
    const log = gateway.lines.join('\n');
    for (const secret of [device.secret, viewer.token, ADMIN_TOKEN, 'Frau Geheim']) {
      expect(log).not.toContain(secret);
    }
  });
});
