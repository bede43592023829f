/**
 * Persistent sessions as a nurse-call system sees them: the backlog in order, what is sent again and how, the window,
 * and what ends a session.
 */
import { expect, type Gateway, type Nurse, testWith } from '../harness/index.js';

/** `mqtt.maxInFlight`, unless configured. */
const WINDOW = 100;
/** Several pages of 500 entries. */
const BACKLOG = 1_500;
const SILENT = { isDurable: true, acknowledges: false } as const;

const test = testWith({ env: { GATEWAY_LIMITS_DEVICE_MESSAGES_PER_SECOND: '10000' } });

/** The numbers of the alarms that it got on this connection, from the log. */
function numbersOf({ client }: Nurse): number[] {
  return client.records.map(({ text }) => JSON.parse(text).data.n);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

const WHERE: readonly (readonly [where: string, forget: (gateway: Gateway) => Promise<void>])[] = [
  ['memory', async () => undefined],
  ['the store only', (gateway) => gateway.restart()],
];

test.for(WHERE)(
  'guarantee 3: a backlog in %s is sent in order, without overtaking, while new alarms arrive',
  async ([, forget], { home }) => {
    const sensors = await Promise.all(
      [0, 1, 2].map((qos) => home.sensor({ qos: qos === 2 ? 2 : 1 })),
    );
    const nurse = await home.nurse({ isDurable: true });
    await nurse.leave();
    await Promise.all(sensors.map((sensor) => sensor.raise(BACKLOG / sensors.length)));
    await forget(home.gateway);
    await nurse.connect();
    while (nurse.records.length < BACKLOG) {
      await Promise.all(sensors.map((sensor) => sensor.raise(5)));
    }
    await home.settled();
    expect(nurse.records.every(({ dup, retain }) => !dup && !retain)).toBe(true);
  },
);

test('guarantee 3: it continues in order when the nurse reconnects in the middle, again and again', async ({
  home,
}) => {
  const sensors = [await home.sensor(), await home.sensor({ qos: 2 })];
  const nurse = await home.nurse({ isDurable: true });
  await nurse.leave();
  await Promise.all(sensors.map((sensor) => sensor.raise(300)));
  let connections = 0;
  const came = () => new Set(nurse.records.map(({ text }) => text)).size;
  for (; came() < home.ledger.count; connections++) {
    await nurse.connect();
    const goal = Math.min(came() + 120, home.ledger.count);
    await nurse.until(() => came() >= goal, `${goal} alarms`);
    nurse.vanish();
    if (connections < 3) await Promise.all(sensors.map((sensor) => sensor.raise(10)));
  }
  expect(connections).toBeGreaterThan(3);
  await nurse.connect();
  await home.settled();
});

test('[MQTT-4.4.0-1] what is not acknowledged comes again with DUP, under its packet identifier', async ({
  home,
}) => {
  const [sensor, nurse] = [await home.sensor(), await home.nurse(SILENT)];
  const sent = () => nurse.client.records.map(({ packet }) => packet);
  await sensor.raise(5);
  await nurse.untilRecords(5);
  nurse.client.acknowledge(2);
  await nurse.flush();
  const identifiers = sent().map(({ messageId }) => messageId);
  nurse.vanish();
  await sensor.raise(2);
  await nurse.connect();
  await nurse.until(() => sent().length === 5);
  expect(numbersOf(nurse)).toEqual(range(2, 7));
  expect(sent().map(({ dup }) => dup)).toEqual([true, true, true, false, false]);
  expect(
    sent()
      .slice(0, 3)
      .map(({ messageId }) => messageId),
  ).toEqual(identifiers.slice(2));
  // After a restart they come as if sent for the first time.
  await home.gateway.restart();
  await nurse.connect();
  await sensor.raise();
  await nurse.until(() => sent().length === 6);
  expect(sent().map(({ dup }) => dup)).toEqual(Array.from({ length: 6 }, () => false));
  nurse.client.acknowledgeAll();
  await home.settled({ mayRepeat: true });
});

test('what was acknowledged out of order, or twice, does not come again', async ({ home }) => {
  const [sensor, nurse] = [await home.sensor(), await home.nurse(SILENT)];
  await sensor.raise(3);
  await nurse.untilRecords(3);
  const messageId = nurse.client.records.at(-1)?.packet.messageId ?? 0;
  nurse.client.send({ cmd: 'puback', messageId }, { cmd: 'puback', messageId });
  await nurse.flush();
  nurse.vanish();
  await nurse.connect();
  await sensor.raise();
  await nurse.until(({ client }) => client.records.length === 3);
  expect(numbersOf(nurse)).toEqual([0, 1, 3]);
});

test('a delayed acknowledgement acknowledges nothing else after a restart of the gateway', async ({
  home,
}) => {
  const [sensor, nurse] = [await home.sensor(), await home.nurse(SILENT)];
  await sensor.raise(2 * WINDOW);
  await nurse.untilRecords(WINDOW);
  nurse.client.acknowledge(WINDOW / 2);
  await nurse.untilRecords(1.5 * WINDOW);
  // mqtt.js keeps acknowledgements that it could not send, and sends them after its next CONNECT.
  const messageId = nurse.client.records[WINDOW]?.packet.messageId ?? 0;
  await home.gateway.restart();
  await nurse.connect();
  await nurse.until(({ client }) => client.records.length === WINDOW);
  nurse.client.send({ cmd: 'puback', messageId });
  await nurse.flush();
  nurse.vanish();
  await nurse.connect();
  nurse.client.acknowledgeAll();
  await nurse.until(({ client }) => client.records.length === 1.5 * WINDOW);
  expect(numbersOf(nurse)).toEqual(range(WINDOW / 2, 2 * WINDOW));
});

test('what is in flight never exceeds the window, alarms and telemetry together', async ({
  home,
}) => {
  const sensor = await home.sensor();
  const filters = [home.filter(sensor.device, 'alarms/#'), home.filter(sensor.device, 'x')];
  const nurse = await home.nurse({ ...SILENT, filters });
  await nurse.leave();
  const telemetry = range(0, 250).map((n) => sensor.publish('x', String(n)));
  await Promise.all([sensor.raise(250), ...telemetry]);
  await nurse.connect();
  await nurse.untilRecords(WINDOW);
  const identifiers = () => nurse.client.records.map(({ packet }) => packet.messageId);
  for (let acknowledged = 0; acknowledged < 400; ) {
    // The gateway answers the first ping before it sends what the acknowledgements allow.
    await nurse.flush();
    await nurse.flush();
    expect(nurse.records.length - acknowledged).toBeLessThanOrEqual(WINDOW);
    expect(new Set(identifiers().slice(acknowledged)).size).toBe(
      nurse.records.length - acknowledged,
    );
    acknowledged += nurse.client.acknowledge(40).length;
    await nurse.untilRecords(acknowledged + 1);
  }
  nurse.client.acknowledgeAll();
  await nurse.untilRecords(500);
  expect(nurse.messages('/x').map(({ data }) => data)).toEqual(range(0, 250));
  await home.settled();
});

test('an unsubscribed session gets what was accepted until then, also after a restart, and nothing more', async ({
  home,
}) => {
  const [sensor, nurse] = [await home.sensor(), await home.nurse({ isDurable: true })];
  const alarms = home.filter(undefined, 'alarms/#');
  await nurse.subscribe(home.filter(sensor.device, 'x'));
  await nurse.leave();
  await sensor.raise(150);
  const other = await home.nurse({
    isDurable: true,
    clientId: nurse.clientId,
    filters: [],
    acknowledges: false,
  });
  await other.unsubscribe(alarms);
  await sensor.raise(10);
  await other.leave();
  await home.gateway.restart();
  await nurse.connect();
  await sensor.raise();
  await sensor.publish('x', '1');
  await nurse.until(() => nurse.messages('/x').length === 1);
  expect(nurse.messages('/alarms/').map(({ data }) => Object(data).n)).toEqual(range(0, 150));
});

test('a clean session of its client ends a session with its backlog', async ({ home }) => {
  const [sensor, nurse] = [await home.sensor(), await home.nurse({ isDurable: true })];
  await nurse.leave();
  await sensor.raise(5);
  await home.nurse({ clientId: nurse.clientId, filters: [] });
  await nurse.connect();
  expect(nurse.sessionsLost).toBe(1);
  await nurse.subscribe(home.filter(undefined, 'alarms/#'));
  await sensor.raise();
  await nurse.untilRecords(1);
  expect(numbersOf(nurse)).toEqual([5]);
});

test('a new session reads nothing of the one that it replaced, however late the store deletes that', async ({
  own,
}) => {
  const home = await own.home();
  const [sensor, nurse] = [await home.sensor(), await home.nurse({ isDurable: true })];
  await nurse.leave();
  await sensor.raise(5);
  const store = await home.store();
  store.freeze();
  // Its session is being written, so that what comes now waits for that.
  const other = home.nurse({ isDurable: true, filters: [] });
  await home.nurse({ clientId: nurse.clientId, filters: [] });
  await nurse.connect();
  store.thaw();
  await other;
  await nurse.subscribe(home.filter(undefined, 'alarms/#'));
  await sensor.raise();
  await nurse.untilRecords(1);
  expect(numbersOf(nurse)).toEqual([5]);
});
