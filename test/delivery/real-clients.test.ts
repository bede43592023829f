/** The main job with the clients that integrators use: mosquitto_pub and mosquitto_sub, and Paho for Python. */
import { expect, type Home, type TestDevice, test } from '../harness/index.js';
import { Program } from '../harness/program.js';

const CUSTOM_DATA = '{"room":"7a","ref":12345678901234567890,"price":1.10,"__proto__":{}}';
const ALARM = '{"kind":"fall","detectedAt":"2026-11-20T10:00:00Z","confidence":0.90}';

/** Publishes as the device. */
function mosquittoPub(
  home: Home,
  device: TestDevice,
  rest: string,
  payload: string,
  ...options: string[]
) {
  const port = String(home.gateway.mqttPort);
  const login = ['-p', port, '-u', device.id, '-P', device.secret];
  const topic = ['-t', `devices/${device.id}/${rest}`];
  return Program.run('mosquitto_pub', [...login, ...topic, '-m', payload, ...options]);
}

/** Subscribes as a nurse-call system; resolves once it has its SUBACK. */
async function mosquittoSub(home: Home, filter: string, ...options: string[]): Promise<Program> {
  const { id, token } = home.viewer;
  const login = ['-p', String(home.gateway.mqttPort), '-u', id, '-P', token];
  const format = ['-q', '1', '-d', '-F', '%t %q %r %p', '-t', filter];
  // Otherwise it buffers several thousand bytes when it writes to a pipe.
  const args = ['-oL', 'mosquitto_sub', ...login, ...format, ...options];
  const subscriber = Program.run('stdbuf', args);
  home.onClose(() => subscriber.kill());
  await subscriber.line('Subscribed');
  return subscriber;
}

function forwarded({ id, name }: TestDevice, home: Home, customData: object = {}) {
  const location = { id: home.locationId, name: home.name };
  return { device: { id, name }, location, room: null, group: null, customData };
}

function payloadOf(line: string): unknown {
  return JSON.parse(line.slice(line.indexOf('{')));
}

test.for(['0', '1', '2'])(
  'an alarm of mosquitto_pub at QoS %s reaches mosquitto_sub at QoS 1, enriched',
  async (qos, { home }) => {
    const device = await home.device('Bett 7');
    await home.customData(device, CUSTOM_DATA);
    const nurse = await mosquittoSub(home, `care-homes/${home.locationId}/#`);
    expect(await mosquittoPub(home, device, 'alarms', ALARM, '-q', qos).exit()).toBe(0);
    const line = await nurse.line(/\/alarms\/fall 1 0 /);
    expect(line).toContain(`${home.filter(device, 'alarms/fall')} 1 0 `);
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
      ...forwarded(device, home, JSON.parse(CUSTOM_DATA)),
    });
    // It is the same alarm when it is published again.
    await mosquittoPub(home, device, 'alarms', ALARM, '-q', '1').exit();
    expect(await home.alarms(device)).toMatchObject([{ kind: 'fall' }]);
  },
);

test('mosquitto_pub and mosquitto_sub with MQTT 5 pass properties, and show why a publish is denied', async ({
  home,
}) => {
  const device = await home.device();
  const nurse = await mosquittoSub(
    home,
    home.filter(device, 'alarms/#'),
    '-V',
    '5',
    '-F',
    '%t %P %p',
  );
  const five = ['-V', '5', '-q', '1', '-D', 'publish', 'user-property', 'unit', 'C'];
  expect(await mosquittoPub(home, device, 'alarms', ALARM, ...five).exit()).toBe(0);
  expect(await nurse.line('/alarms/fall unit:C ')).toContain('"kind":"fall"');
  const denied = mosquittoPub(home, device, 'x', '1', ...five, '-t', 'elsewhere');
  await denied.line('Not authorized');
  await denied.exit();
});

test('other messages carry the JSON value unchanged, or the bytes', async ({ home }) => {
  const device = await home.device();
  const nurse = await mosquittoSub(home, home.filter(device, 't/#'));
  await mosquittoPub(home, device, 't/json', '[1.10, 9007199254740993]', '-q', '1').exit();
  await mosquittoPub(home, device, 't/text', 'no json', '-q', '1').exit();
  expect(await nurse.line('/t/json 1 0 ')).toContain('"data":[1.10, 9007199254740993],');
  expect(payloadOf(await nurse.line('/t/text 1 0 '))).toEqual({
    receivedAt: expect.any(String),
    base64: Buffer.from('no json').toString('base64'),
    ...forwarded(device, home),
  });
});

test.for(['3.1.1', '5'])(
  'a device with Paho and MQTT %s has every alarm acknowledged, forwarded and recorded',
  async (version, { home }) => {
    const device = await home.device();
    const nurse = await home.nurse({ filters: [home.filter(device, 'alarms/#')] });
    const kinds = ['fall', 'noise', 'helpCall'];
    const input = `${kinds.map((kind) => JSON.stringify({ kind })).join('\n')}\n`;
    const login = [String(home.gateway.mqttPort), device.id, device.secret];
    const args = ['test/delivery/paho-device.py', ...login, `devices/${device.id}/alarms`, version];
    const paho = Program.run('/usr/bin/python3', args, { input });
    expect(await paho.exit()).toBe(0);
    await paho.line(`acknowledged ${kinds.length}`);
    await nurse.untilRecords(kinds.length);
    expect(nurse.records.map(({ text }) => JSON.parse(text).kind)).toEqual(kinds);
    expect((await home.alarms(device)).map(({ kind }) => kind)).toEqual(kinds.toReversed());
  },
);

test('the log of the gateway has no secret, token or custom data', async ({ home, gateway }) => {
  const device = await home.device();
  await home.customData(device, '{"resident":"Frau Geheim"}');
  await mosquittoPub(home, device, 'alarms', ALARM, '-q', '1').exit();
  // The sensor has gone, so the log has everything about its alarm.
  await gateway.logged(new RegExp(`device:${device.id}.*"msg":"disconnected"`));
  const log = gateway.lines.join('\n');
  for (const secret of [device.secret, home.viewer.token, home.manager.token, 'Frau Geheim']) {
    expect(log).not.toContain(secret);
  }
});
