import { expect } from 'vitest';
import { z } from 'zod';
import { Api, type TestToken } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { accountIn } from '../harness/metrics.js';
import { Mosquitto } from '../harness/mosquitto.js';
import {
  byDevice,
  type Consumer,
  type Expected,
  type HowItEnded,
  identityOf,
  type Message,
  membersOf,
  membersWithoutNames,
  unpackVersionOne,
} from './data.js';

const LOGS = ['alarms', 'messages'] as const;
/** Smaller than the histories, so that they are read over pages. */
const PAGE = 10;

const eventSchema = z.looseObject({
  id: z.string(),
  footage: z.object({ video: z.string().nullable(), audio: z.string().nullable() }),
});
const pageSchema = z.object({ nextCursor: z.string().nullable(), events: z.array(eventSchema) });
type HistoryEvent = z.infer<typeof eventSchema>;

interface SessionOfVersionOne extends Consumer {
  readonly clientId: string;
  readonly token: TestToken;
}

/** The gateway on a copy of a data directory of version 1. */
export class VersionOneWorld {
  readonly expected: Expected;
  readonly gateway: GatewayHere;
  readonly admin: Api;
  /** By bridge; not running at first. */
  readonly upstreams: ReadonlyMap<string, Mosquitto>;

  private constructor(
    expected: Expected,
    gateway: GatewayHere,
    upstreams: ReadonlyMap<string, Mosquitto>,
  ) {
    this.expected = expected;
    this.gateway = gateway;
    this.admin = new Api(gateway, expected.adminToken);
    this.upstreams = upstreams;
  }

  /** Not started yet. The bridges lead to brokers of the test, which get all that waits at once. */
  static async unpack(end: HowItEnded): Promise<VersionOneWorld> {
    const { expected, dataDir } = await unpackVersionOne(end);
    const gateway = GatewayHere.on(dataDir, { GATEWAY_ADMIN_TOKEN: undefined });
    const upstreams = new Map<string, Mosquitto>();
    const bridges: object[] = [];
    for (const bridge of expected.configuration.bridges) {
      const upstream = await Mosquitto.create();
      upstreams.set(bridge.name, upstream);
      bridges.push({ ...bridge, url: upstream.url, replayPerSecond: 1000 });
    }
    await gateway.configure({ ...expected.configuration, bridges });
    return new VersionOneWorld(expected, gateway, upstreams);
  }

  async remove(): Promise<void> {
    await this.gateway.remove();
    for (const upstream of this.upstreams.values()) await upstream.remove();
  }

  async restart(): Promise<void> {
    await this.gateway.stop();
    await this.gateway.start();
  }

  /** Those of access tokens. */
  get sessions(): SessionOfVersionOne[] {
    return Object.entries(this.expected.consumers).flatMap(([clientId, consumer]) => {
      const token = this.#tokenOf(consumer.owner);
      return token === undefined ? [] : [{ ...consumer, clientId, token }];
    });
  }

  /** The same filter within each location. */
  filters(...rests: string[]): string[] {
    const locations = new Set(this.expected.messages.map(({ topic }) => topic.split('/')[1]));
    return [...locations].flatMap((id) => rests.map((rest) => `care-homes/${id}/${rest}`));
  }

  /** Every event of a history, page after page. */
  async historyOf(path: string, as: string | undefined, query: string): Promise<HistoryEvent[]> {
    const token = this.#tokenOf(as);
    const api = token ? new Api(this.gateway, token.token) : this.admin;
    const events: HistoryEvent[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const part = cursor === undefined ? '' : `&cursor=${cursor}`;
      const text = await api.json('GET', `${path}?limit=${PAGE}&${query}${part}`);
      const page = pageSchema.parse(text);
      events.push(...page.events);
      cursor = page.nextCursor;
    }
    return events;
  }

  async expectAccounts(name: string, { alarms, messages }: Consumer['accounts']): Promise<void> {
    const check = async () => {
      const text = await (await fetch(`${this.gateway.httpUrl}/metrics`)).text();
      const found = LOGS.map((log) => accountIn(text, name, log));
      expect([name, ...found]).toEqual([name, alarms, messages]);
    };
    await eventually(check);
  }

  /**
   * Asserts the exact backlog, each message once, in the order of its device, with the old texts.
   *
   * Version 1 recorded an alarm without the names of its place, which are those of today.
   */
  expectBacklog(name: string, found: readonly Message[], { owed }: Consumer): void {
    const messages = owed.flatMap((at) => this.expected.messages[at] ?? []);
    expect([name, byDevice(found)]).toEqual([name, byDevice(messages)]);
    const byIdentity = new Map(found.map((message) => [identityOf(message), message]));
    for (const message of messages) {
      const { topic, text } = byIdentity.get(identityOf(message)) ?? { topic: '', text: '' };
      expect(topic).toBe(message.topic);
      const compared = topic.split('/')[4] === 'alarms' ? membersWithoutNames : membersOf;
      expect(compared(text)).toMatchObject(compared(message.text));
    }
  }

  #tokenOf(name: string | undefined): TestToken | undefined {
    const { tokens } = this.expected;
    return name === undefined ? undefined : new Map(Object.entries(tokens)).get(name);
  }
}

/** The accounts once everything that is queued has been delivered. */
export function delivered({ alarms, messages }: Consumer['accounts']): Consumer['accounts'] {
  const all = (account: typeof alarms) => {
    return { ...account, delivered: account.delivered + account.queued, queued: 0 };
  };
  return { alarms: all(alarms), messages: all(messages) };
}

/** With object keys in place of URLs. */
export function withKeys(event: HistoryEvent): HistoryEvent {
  const key = (url: string | null) => url && new URL(url).pathname.replace('/footage/', '');
  const { video, audio } = event.footage;
  return { ...event, footage: { video: key(video), audio: key(audio) } };
}
