import { absent, rawClient, subscriber } from './clients.mjs';

/** Of what the session `gap` received, the first being 0, in the order of its acknowledgements. */
const ACKNOWLEDGED = [1, 0, 6, 4];
const GAP_RECEIVED = 10;
const LIMIT = 40;
/** Session → the name of its access token. */
const OWNERS = {
  'alarms-away': 'viewer',
  'south-away': 'southViewer',
  'mixed-away': 'everywhere',
  bounded: 'viewer',
  'caught-up': 'everywhere',
  'live-only': 'everywhere',
  'without-filters': 'everywhere',
  gap: 'viewer',
  changed: 'everywhere',
};

/** The sessions and bridges, and what each is owed. */
export class Consumers {
  #gateway;
  #home;
  #messages;
  /** By consumer: what is done with. */
  #settled = new Map();
  #gap;
  #changed;
  /** Messages in the witness when the filters were changed. */
  #changedAt;

  constructor(gateway, home, messages) {
    this.#gateway = gateway;
    this.#home = home;
    this.#messages = messages;
  }

  async begin() {
    const { door, bed } = this.#home.devices;
    const { a, b } = this.#filters;
    const mixed = [a('+/alarms/#'), a('+/readings/#'), b('+/alarms/#')];
    await this.#absent('alarms-away', [a('+/alarms/#')]);
    await this.#absent('south-away', [a('+/alarms/#')]);
    await this.#absent('mixed-away', mixed);
    await this.#absent('bounded', [a('+/alarms/noise'), a('+/stream')]);
    await this.#absent('caught-up', mixed);
    await this.#absent('live-only', [a('+/alarms/#')], 0);
    await this.#absent('without-filters', []);
    await absent(this.#gateway, door, 'door-session', [`devices/${door.id}/commands/#`]);
    this.#gap = await this.#raw('gap', [a(`${bed.id}/alarms/#`)]);
    this.#changed = await this.#raw('changed', [a('+/alarms/fall'), a('+/alarms/noise')]);
  }

  /** The two that are connected do what they do, and are away from then on. */
  async acknowledgeSome() {
    const received = await this.#gap.next('publish', GAP_RECEIVED);
    const acknowledged = ACKNOWLEDGED.map((at) => received[at]);
    for (const { messageId } of acknowledged) this.#gap.send({ cmd: 'puback', messageId });
    await this.#gap.settled();
    this.#gap.vanish();
    this.settled('gap', acknowledged.map(messageOf));

    const changed = this.#changed;
    const [first] = await changed.next('publish', 10);
    changed.send({ cmd: 'puback', messageId: first.messageId });
    this.settled('changed', [messageOf(first)]);
    const { a, b } = this.#filters;
    changed.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [a('+/alarms/fall')] });
    await changed.next('unsuback');
    const subscriptions = [{ topic: b('+/alarms/#'), qos: 1 }];
    changed.send({ cmd: 'subscribe', messageId: 3, subscriptions });
    await changed.next('suback', 2);
    await changed.settled();
    changed.vanish();
  }

  /** To be called once the witness has the messages of the first day. */
  async catchUp() {
    this.#changedAt = this.#messages.length;
    const client = await subscriber(this.#gateway, this.#ownerOf('caught-up'), 'caught-up');
    // It has all when no more is queued for it: what it receives it acknowledges.
    const queued = async () => {
      const counts = await this.#gateway.counts();
      return counts.get('caught-up alarms queued') + counts.get('caught-up messages queued');
    };
    return {
      hasAll: async () => (await queued()) === 0,
      end: async () => {
        await client.end();
        this.settled('caught-up', client.received);
      },
    };
  }

  /** These were acknowledged, or refused for good. */
  settled(name, messages) {
    const before = this.#settled.get(name) ?? [];
    this.#settled.set(name, [...before, ...messages.map(({ text }) => withoutLate(text))]);
  }

  /** The name of its access token; undefined for a bridge. */
  ownerNameOf(name) {
    return OWNERS[name];
  }

  get names() {
    return Object.keys(this.#accepted);
  }

  /** Indexes of messages that the consumer must get still. */
  owed(name) {
    const settled = new Set(this.#settled.get(name));
    const owed = this.#accepted[name].filter((at) => !settled.has(this.#messages[at].text));
    return name === 'bounded' ? this.#withinLimit(owed) : owed;
  }

  /** Holds what is owed against what the gateway says is queued. */
  async check() {
    const counts = await this.#gateway.counts();
    for (const name of this.names) {
      const ofLog = (isAlarm) =>
        this.owed(name).filter((at) => this.#messages[at].topic.includes('/alarms/') === isAlarm);
      const expected = [ofLog(true).length, ofLog(false).length];
      const queued = ['alarms', 'messages'].map((log) => counts.get(`${name} ${log} queued`));
      if (expected.join() === queued.join()) continue;
      throw new Error(`${name} has ${queued} queued, not ${expected}`);
    }
  }

  #ownerOf(clientId) {
    return this.#home.tokens[OWNERS[clientId]];
  }

  get #filters() {
    const { a, b } = this.#home;
    return {
      a: (rest) => `care-homes/${a.id}/devices/${rest}`,
      b: (rest) => `care-homes/${b.id}/devices/${rest}`,
    };
  }

  /** Indexes of all that concerned each. */
  get #accepted() {
    const { a, b, groups, devices } = this.#home;
    const inA = ({ topic }) => topic.startsWith(`care-homes/${a.id}/`);
    const inB = ({ topic }) => topic.startsWith(`care-homes/${b.id}/`);
    const isAlarm = ({ topic }) => topic.includes('/alarms/');
    const isKind = (kind) => (message) => message.topic.endsWith(`/alarms/${kind}`);
    const [isFall, isNoise] = [isKind('fall'), isKind('noise')];
    // At QoS 0 nothing is owed.
    const isReading = ({ topic }) => /\/readings\/(?!quick)/.test(topic);
    const inSouth = ({ text }) => JSON.parse(text).group?.id === groups.south.id;
    const isBed = ({ topic }) => topic.includes(devices.bed.id);
    const indexes = (fits) =>
      [...this.#messages.keys()].filter((at) => fits(this.#messages[at], at));
    const mixed = (one) => isAlarm(one) || (isReading(one) && inA(one));
    const changed = (one, at) =>
      (inA(one) && isNoise(one)) ||
      (at < this.#changedAt ? inA(one) && isFall(one) : inB(one) && isAlarm(one));
    return {
      'alarms-away': indexes((one) => isAlarm(one) && inA(one)),
      'south-away': indexes((one) => isAlarm(one) && inA(one) && inSouth(one)),
      'mixed-away': indexes(mixed),
      bounded: indexes((one) => inA(one) && (isNoise(one) || one.topic.endsWith('/stream'))),
      'caught-up': indexes(mixed),
      'live-only': [],
      'without-filters': [],
      gap: indexes((one) => isAlarm(one) && isBed(one)),
      changed: indexes(changed),
      'bridge/region': indexes(isAlarm),
      'bridge/slow': indexes((one) => isAlarm(one) || isReading(one)),
    };
  }

  /** Beyond the bound the oldest telemetry goes. */
  #withinLimit(owed) {
    const isAlarm = (at) => this.#messages[at].topic.includes('/alarms/');
    const alarms = owed.filter(isAlarm);
    const rest = owed.filter((at) => !isAlarm(at));
    return [...alarms, ...rest.slice(alarms.length - LIMIT)];
  }

  #absent(clientId, filters, qos = 1) {
    return absent(this.#gateway, this.#ownerOf(clientId), clientId, filters, qos);
  }

  async #raw(clientId, filters) {
    const client = await rawClient(this.#gateway, this.#ownerOf(clientId), clientId);
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 }));
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    await client.next('suback');
    return client;
  }
}

function messageOf({ payload }) {
  return { text: payload.toString() };
}

function withoutLate(text) {
  return text.replace(/,"late":(true|false)\}$/, '}');
}
