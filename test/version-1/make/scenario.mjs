import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { changeCareHomes, createCareHomes, record } from './care-homes.mjs';
import { command, freePort, Http, publish, rawClient, upstream } from './clients.mjs';
import { Consumers } from './consumers.mjs';
import { Snapshot } from './snapshot.mjs';
import { firstTraffic, LATER_TRAFFIC, stream, UNUSABLE, Witness } from './traffic.mjs';
import { until } from './waiting.mjs';

const STREAMED = 30;
const NOT_AUTHORIZED = 0x87;
/** Ten years: the test is to find old data also next year. */
const RETENTION_DAYS = 3650;
/** What a bridge's upstream answers to the first messages; the rest stays unanswered. */
const REGION_ANSWERS = [0, 0, NOT_AUTHORIZED, undefined, 0];

async function configurationOf() {
  const url = async () => `mqtt://127.0.0.1:${await freePort()}`;
  const filters = ['care-homes/+/devices/+/alarms/#', 'care-homes/+/devices/+/readings/#'];
  return {
    sessions: { maxQueuedMessages: 40 },
    history: { retentionDays: RETENTION_DAYS },
    audit: { retentionDays: RETENTION_DAYS },
    bridges: [
      { name: 'region', url: await url(), send: 'alarms', protocol: 5 },
      { name: 'slow', url: await url(), filters, replayPerSecond: 1, protocol: 5 },
    ],
  };
}

/**
 * Lets the gateway live through what leaves something to be kept.
 *
 * @returns what must be found in its data directory
 */
export async function runScenario(gateway, end) {
  const configuration = await configurationOf();
  gateway.configure(configuration);
  await gateway.start();
  const http = new Http(gateway);
  const home = await createCareHomes(http);
  const witness = new Witness();
  const consumers = new Consumers(gateway, home, witness.messages);
  const world = { gateway, http, home, witness, consumers, configuration };
  const recordings = await recordingsOf(world);

  await firstDay(world, recordings);
  await gateway.stop();
  await gateway.start();
  await until(
    () => existsSync(join(gateway.dataDir, 'audit', 'custom-data.changed')),
    'archived audit records',
  );
  await secondDay(world);

  const snapshot = new Snapshot(gateway, http, home);
  await consumers.check();
  const found = await snapshot.take({ configuration, recordings, consumers });
  if (end === 'stopped') await gateway.stop();
  else await killWhileSending(world);
  const repeats = recordedAlready().map(([, payload]) => payload);
  return { ...found, repeats, messages: witness.messages };
}

async function recordingsOf({ gateway, home }) {
  const { camera } = home.devices;
  const basic = Buffer.from(`${camera.id}:${camera.secret}`).toString('base64');
  const http = new Http(gateway, `Basic ${basic}`);
  return {
    video: await record(http, camera, 'video', 'video/mp4'),
    audio: await record(http, camera, 'audio', 'audio/wav'),
  };
}

/** With the first names. Most sessions are away from the start. */
async function firstDay(world, recordings) {
  const { gateway, home, witness, consumers } = world;
  await witness.open(gateway, home);
  await consumers.begin();
  const region = await openRegion(world);
  for (const [name, messages] of Object.entries(firstTraffic(recordings))) {
    await witness.publish(gateway, home.devices[name], messages);
  }
  await closeRegion(world, region);
  await consumers.acknowledgeSome();
  await witness.publish(gateway, home.devices.door, stream(0, STREAMED));
  await witness.close();
}

/** With other names, after a restart. */
async function secondDay(world) {
  const { gateway, http, home, witness, consumers } = world;
  const { devices, tokens, a } = home;
  await changeCareHomes(http, home);
  await witness.open(gateway, home);
  const caughtUp = await consumers.catchUp();
  for (const [name, messages] of Object.entries(LATER_TRAFFIC)) {
    await witness.publish(gateway, devices[name], messages);
  }
  await witness.publish(gateway, devices.door, stream(STREAMED, STREAMED));
  await overtakeBacklog(world);
  await unreleased(world);
  await publish(gateway, devices.bed, ...recordedAlready());
  for (const [name, messages] of Object.entries(UNUSABLE)) {
    await publish(gateway, devices[name], ...messages);
  }
  await publish(gateway, devices.camera, ['state', '"on"', { retain: true }]);
  await publish(gateway, devices.camera, ['state', '', { retain: true }]);
  const topic = `care-homes/${a.id}/devices/${devices.door.id}/commands`;
  await command(gateway, tokens.manager, `${topic}/light`, '{"on":1.0}');
  await command(gateway, tokens.manager, `${topic}/sound`, 'beep');
  await until(() => caughtUp.hasAll(), 'caught up');
  await caughtUp.end();
  await witness.close();
}

/** The same id, and the same derived one. */
function recordedAlready() {
  const [sent, , derived] = firstTraffic({ video: {}, audio: {} }).bed;
  return [sent, derived];
}

async function openRegion({ configuration, http }) {
  const answers = [];
  const region = await upstream(portOf(configuration.bridges[0]), (message) => {
    const answer = REGION_ANSWERS[answers.length];
    answers.push({ message, answer });
    return answer;
  });
  await untilConnected(http, 'region');
  return { region, answers };
}

async function closeRegion({ gateway, consumers }, { region, answers }) {
  await until(() => answers.length >= REGION_ANSWERS.length, 'messages upstream');
  const answered = answers.filter(({ answer }) => answer !== undefined);
  await until(async () => {
    const counts = await gateway.counts();
    const of = (state) => counts.get(`bridge/region alarms ${state}`);
    return of('delivered') + of('dropped') === answered.length;
  }, 'answers counted');
  region.close();
  consumers.settled(
    'bridge/region',
    answered.map(({ message }) => message),
  );
}

/** A new alarm goes past the backlog of a bridge, and is acknowledged before it. */
async function overtakeBacklog({ gateway, http, home, witness, consumers, configuration }) {
  const { lone } = home.devices;
  const taken = [];
  const slow = await upstream(portOf(configuration.bridges[1]), (message) => {
    if (taken.some(({ topic }) => topic.includes(lone.id))) return undefined;
    taken.push(message);
    return 0;
  });
  await untilConnected(http, 'slow');
  await witness.publish(gateway, lone, [['alarms', '{"kind":"fall","urgent":true}']]);
  await until(() => taken.some(({ topic }) => topic.includes(lone.id)), 'the alarm went ahead');
  await until(async () => {
    const counts = await gateway.counts();
    return counts.get('bridge/slow alarms delivered') === taken.length;
  }, 'acknowledgements counted');
  slow.close();
  consumers.settled('bridge/slow', taken);
}

/** QoS 2, received and not released. */
async function unreleased({ gateway, home, witness }) {
  const { sensor } = home.devices;
  const client = await rawClient(gateway, sensor, 'sensor-session');
  const publishing = { cmd: 'publish', qos: 2, dup: false, retain: false };
  const topic = `devices/${sensor.id}`;
  const alarm = { topic: `${topic}/alarms`, payload: '{"kind":"helpCall"}' };
  client.send({ ...publishing, ...alarm, messageId: 7 });
  client.send({ ...publishing, topic: `${topic}/readings/x`, payload: '"qos 2"', messageId: 8 });
  await client.next('pubrec', 2);
  await witness.sees(2);
  client.vanish();
}

/** With a session that has been sent its backlog, and has acknowledged none of it. */
async function killWhileSending({ gateway, home, consumers }) {
  const clientId = 'alarms-away';
  const client = await rawClient(gateway, home.tokens.viewer, clientId);
  await client.next('publish', consumers.owed(clientId).length);
  await gateway.kill();
}

async function untilConnected(http, name) {
  await until(async () => {
    const bridges = await http.json('GET', '/bridges');
    return bridges.some((bridge) => bridge.name === name && bridge.connected);
  }, `bridge ${name} connected`);
}

function portOf({ url }) {
  return Number(new URL(url).port);
}
