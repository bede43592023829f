import { Http, subscriber } from './clients.mjs';
import { until } from './waiting.mjs';

const STATES = ['accepted', 'delivered', 'queued', 'expired', 'dropped'];
/** Three readings, and the status of seven devices. */
const RETAINED = 10;
/** Sessions of devices: they are owed no forwarded message. */
const DEVICE_SESSIONS = ['door-session', 'sensor-session'];

/** What is seen of the gateway's data from outside. */
export class Snapshot {
  #gateway;
  #http;
  #home;

  constructor(gateway, http, home) {
    this.#gateway = gateway;
    this.#http = http;
    this.#home = home;
  }

  async take({ configuration, recordings, consumers }) {
    const { devices, tokens } = this.#home;
    const gateway = this.#gateway;
    await until(async () => !(await this.#anybodyOnline()), 'every device offline');
    return {
      configuration,
      adminToken: gateway.adminToken,
      devices: devicesOf(devices),
      tokens,
      recordings,
      consumers: await this.#consumers(consumers),
      commands: [
        { topic: `devices/${devices.door.id}/commands/light`, text: '{"on":1.0}' },
        { topic: `devices/${devices.door.id}/commands/sound`, text: 'beep' },
      ],
      retained: await this.#retained(),
      answers: await this.#answers(),
      histories: await this.#histories(),
      audit: await this.#audit(),
    };
  }

  async #anybodyOnline() {
    for (const path of [this.#home.inA, this.#home.inB]) {
      const devices = await this.#http.json('GET', `${path}/devices`);
      if (devices.some(({ online }) => online)) return true;
    }
    return false;
  }

  async #consumers(consumers) {
    const counts = await this.#gateway.counts();
    const account = (name, log) =>
      Object.fromEntries(STATES.map((state) => [state, counts.get(`${name} ${log} ${state}`)]));
    const accounts = (name) => ({
      alarms: account(name, 'alarms'),
      messages: account(name, 'messages'),
    });
    const known = consumers.names.map((name) => [
      name,
      {
        owner: consumers.ownerNameOf(name),
        accounts: accounts(name),
        owed: consumers.owed(name),
      },
    ]);
    const ofDevices = DEVICE_SESSIONS.map((name) => [name, { accounts: accounts(name) }]);
    return Object.fromEntries([...known, ...ofDevices]);
  }

  /** The gateway's own and those of the bridges change all the time. */
  async #retained() {
    const { a, b, tokens } = this.#home;
    const client = await subscriber(this.#gateway, tokens.everywhere);
    await client.subscribe([`care-homes/${a.id}/#`, `care-homes/${b.id}/#`]);
    await until(() => client.received.length >= RETAINED, 'retained messages');
    await client.end();
    const retained = client.received.map(({ topic, text }) => ({ topic, text }));
    if (retained.length > RETAINED) throw new Error(`${retained.length} retained messages`);
    return retained.toSorted(byTopic);
  }

  /** Path → JSON text. */
  async #answers() {
    const { inA, inB, devices } = this.#home;
    const ofLocation = (path) =>
      ['/rooms', '/groups', '/devices', '/rejected'].map((rest) => path + rest);
    const kept = Object.values(devices).filter(({ isDeleted }) => !isDeleted);
    const paths = [
      ...['/care-homes', '/access-tokens', '/bridges/region/set-aside'],
      ...[inA, inB].flatMap(ofLocation),
      ...kept.flatMap(({ path }) => [path, `${path}/custom-data`]),
    ];
    const answers = {};
    for (const path of paths) answers[path] = await this.#http.text('GET', path);
    return answers;
  }

  async #histories() {
    const { inA, inB, devices, tokens } = this.#home;
    const paths = [inA, inB, ...Object.values(devices).map(({ id }) => `${inA}/devices/${id}`)];
    const moved = [devices.mat, devices.mover].map(({ id }) => `${inB}/devices/${id}`);
    const admin = [...paths, ...moved].map((path) => [path, undefined]);
    const histories = [];
    for (const [path, as] of [...admin, [inA, 'southViewer'], [inA, 'viewer']]) {
      const http = as ? new Http(this.#gateway, `Bearer ${tokens[as].token}`) : this.#http;
      const events = await historyOf(http, `${path}/alarms`);
      if (events !== undefined) histories.push({ path: `${path}/alarms`, as, events });
    }
    return histories;
  }

  /** Every record, the oldest first; a denied permission among them. */
  async #audit() {
    const viewer = new Http(this.#gateway, `Bearer ${this.#home.tokens.viewer.token}`);
    await viewer.text('GET', `${this.#home.inB}/rooms`).catch(() => undefined);
    const stranger = new Http(this.#gateway, 'Bearer nobody');
    await stranger.text('GET', `${this.#home.inB}/rooms`).catch(() => undefined);
    const path = '/audit?order=asc&limit=100';
    await until(async () => {
      const refused = await this.#http.events('/audit?actions=authentication.refused');
      return refused.length > 0;
    }, 'the refused login is written down');
    return this.#http.events(path);
  }
}

/** Undefined where there is no such device; of a recording its key. */
async function historyOf(http, path) {
  try {
    const events = await http.events(`${path}?order=asc&limit=7`);
    return events.map((event) => ({ ...event, footage: keysOf(event.footage) }));
  } catch (error) {
    if (error.message.includes(': 404 ')) return undefined;
    throw error;
  }
}

function keysOf({ video, audio }) {
  const key = (url) => url && new URL(url).pathname.replace('/footage/', '');
  return { video: key(video), audio: key(audio) };
}

function devicesOf(devices) {
  return Object.fromEntries(
    Object.entries(devices).map(([name, { path, ...device }]) => [name, device]),
  );
}

function byTopic(one, other) {
  return one.topic < other.topic ? -1 : 1;
}
