import { publish, subscriber } from './clients.mjs';
import { until } from './waiting.mjs';

const DAY = '2026-11-20';

/** What devices send while everything has its first name: `[rest of the topic, payload, options]`. */
export function firstTraffic(recordings) {
  const { video, audio } = recordings;
  return {
    bed: [
      alarm(
        '"fall"',
        `"id":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed","detectedAt":"${DAY}T10:00:00Z"`,
      ),
      alarm('"outOfBed"', '"id":"2C9D6BCD-BBFD-4B2D-9B5D-AB8DFBBD4BED"'),
      alarm('"outOfRoom"', `"detectedAt":"${DAY}T11:00:00.123456+01:00"`),
      alarm('"outOfSeat"', '"n":9007199254740993,"price":1.10,"__proto__":{"y":2}'),
      alarm('"helpCall"', '"detectedAt":"2099-01-01T00:00:00Z"'),
      alarm('"noise"', '"detectedAt":"1999-12-31T23:59:59Z"'),
      alarm('"wandering"', '"id":"alarm-7"'),
      alarm('"inactivity"', `"detectedAt":"${DAY}T10:00:00Z","text":"ü \\u00fc \\"","id":null`),
      [...alarm('"fall"', '"id":"3d9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"'), { qos: 2 }],
      alarm('"noise"', '"detectedAt":12.50'),
      ['readings/temperature', '{"n":1,"v":1.10,"big":9007199254740993,"__proto__":1}'],
      ['readings/text', '"one"'],
      ['readings/bytes', Buffer.from([1, 2, 255])],
      ['readings/exactly', '{"n":2}', { qos: 2 }],
      ['readings/quick', '{"n":3}', { qos: 0 }],
      ['readings/battery', '{"level":0.50}', { retain: true }],
    ],
    door: [alarm('"helpCall"', '"n":1'), alarm('"noise"', '"n":2')],
    camera: [
      alarm('"fall"', `"footage":{"video":"${video.key}","audio":"${audio.key}"}`),
      alarm('"noise"', `"footage":{"audio":"${audio.key}"}`),
    ],
    mover: [
      alarm('"fall"', `"detectedAt":"${DAY}T10:00:00Z"`),
      alarm('"noise"', '"n":3'),
      ['readings/state', '"at the lake"', { retain: true }],
    ],
    gone: [
      alarm('"fall"', `"detectedAt":"${DAY}T12:00:00Z"`),
      alarm('"wandering"', '"n":4'),
      ['readings/state', '"there"', { retain: true }],
    ],
    mat: [
      alarm('"fall"', '"n":5'),
      alarm('"fall"', `"detectedAt":"${DAY}T10:00:00Z"`),
      ['readings/state', '{"level":1.0}', { retain: true }],
    ],
  };
}

/** The same after `changeCareHomes`. */
export const LATER_TRAFFIC = {
  bed: [alarm('"fall"', '"later":1'), alarm('"noise"', '"later":2'), ['readings/text', '"later"']],
  door: [alarm('"helpCall"', '"later":3')],
  camera: [alarm('"fall"', '"later":4')],
  mover: [alarm('"fall"', '"later":5'), ['readings/state', '"in the hills"', { retain: true }]],
  mat: [alarm('"noise"', '"later":6')],
};

/** None of them can be used. */
export const UNUSABLE = {
  bed: [
    ['alarms', 'no JSON'],
    ['alarms', '{"kind":"party"}'],
    ['alarms', '{"kind":"fall","footage":{"video":"others/video.mp4"}}'],
    ['alarms/fall', '{}'],
  ],
  mat: [['alarms', '[]']],
};

/** As many numbered messages. */
export function stream(from, count) {
  return Array.from({ length: count }, (_, at) => ['stream', `{"number":${from + at}}`]);
}

function alarm(kind, rest) {
  return ['alarms', `{"kind":${kind},${rest}}`];
}

/** Sees every alarm and reading live, in the order in which they are accepted. */
export class Witness {
  /** `topic` and `text`, without `late`. */
  messages = [];
  #client;
  #published = 0;

  async open(gateway, { a, b, tokens }) {
    this.#client = await subscriber(gateway, tokens.everywhere);
    const filters = [a, b].flatMap(({ id }) =>
      ['alarms/#', 'readings/#', 'stream'].map((rest) => `care-homes/${id}/devices/+/${rest}`),
    );
    await this.#client.subscribe(filters);
  }

  /** Publishes, and resolves when it has seen that. */
  async publish(gateway, device, messages) {
    await publish(gateway, device, ...messages);
    await this.sees(messages.length);
  }

  /** Resolves when it has seen so many more. */
  async sees(count) {
    this.#published += count;
    await until(() => this.#count === this.#published, `${this.#published} messages`);
  }

  get #count() {
    return this.messages.length + this.#live.length;
  }

  /** Without what was retained before it subscribed. */
  get #live() {
    return this.#client.received.filter(({ retain }) => !retain);
  }

  async close() {
    await this.#client.end();
    for (const { topic, text } of this.#live) {
      this.messages.push({ topic, text: text.replace(/,"late":(true|false)\}$/, '}') });
    }
  }
}
