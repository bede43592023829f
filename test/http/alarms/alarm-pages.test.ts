import fc from 'fast-check';
import type { MqttClient } from 'mqtt';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { ADMIN_TOKEN } from '../../harness/gateway/running-gateway.js';
import { useRedis } from '../../harness/servers/shared-redis.js';
import { failure } from '../client.js';
import { startGateway, type TestGateway } from '../harness.js';

const redis = useRedis();
const pageSchema = z.strictObject({
  nextCursor: z.string().nullable(),
  events: z.array(z.looseObject({ id: z.string(), deviceId: z.string().optional() })),
});

/** Few moments, devices and groups, so that they often coincide. */
const moment = fc.integer({ min: 0, max: 4 });
const device = fc.constantFrom(0, 1);
const place = fc.constantFrom(0, 1, undefined);

interface Arrival {
  readonly device: number;
  readonly kind: string;
  readonly at: number;
}
interface Move {
  readonly device: number;
  readonly to: number | undefined;
}
interface Listing {
  /** Undefined for the whole location. */
  readonly device: number | undefined;
  /** Undefined for the administrator. */
  readonly groups: readonly number[] | undefined;
  readonly kinds: readonly string[] | undefined;
  readonly after: number | undefined;
  readonly before: number | undefined;
  readonly order: 'asc' | 'desc';
  readonly limits: readonly number[];
  /** The alarms that arrive between the pages. */
  readonly arriving: readonly (readonly Arrival[])[];
}

const arrival: fc.Arbitrary<Arrival> = fc.record({
  device,
  kind: fc.constantFrom(...ALARM_KINDS.slice(0, 3)),
  at: moment,
});
const move: fc.Arbitrary<Move> = fc.record({ device, to: place });
/** Omitted half of the time, so that enough is listed. */
const half = { nil: undefined, freq: 2 };
const listing: fc.Arbitrary<Listing> = fc.record({
  device: fc.option(device, half),
  groups: fc.option(fc.subarray([0, 1], { minLength: 1 }), half),
  kinds: fc.option(fc.subarray(ALARM_KINDS.slice(0, 4), { minLength: 1 }), half),
  after: fc.option(fc.constantFrom(0, 1), half),
  before: fc.option(fc.constantFrom(3, 4), half),
  order: fc.constantFrom('asc', 'desc'),
  limits: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
  arriving: fc.array(fc.array(arrival, { maxLength: 4, size: 'max' }), {
    maxLength: 4,
    size: 'max',
  }),
});

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

/** The expected listing, computed as simply as possible. */
class Model {
  readonly alarms: (Arrival & { readonly id: string; readonly group: number | undefined })[] = [];
  readonly groupOf: (number | undefined)[] = [undefined, undefined];

  expected(query: Listing): string[] {
    const { groups, kinds, after, before, order } = query;
    const shown = this.alarms.filter(
      (alarm) =>
        (query.device === undefined || alarm.device === query.device) &&
        (groups === undefined || (alarm.group !== undefined && groups.includes(alarm.group))) &&
        (kinds === undefined || kinds.includes(alarm.kind)) &&
        (after === undefined || alarm.at > after) &&
        (before === undefined || alarm.at < before),
    );
    // A stable sort keeps alarms of the same moment in the order of arrival.
    const sorted = shown.toSorted((one, other) => one.at - other.at).map(({ id }) => id);
    return order === 'asc' ? sorted : sorted.toReversed();
  }
}

/** A location with two devices, and two groups with a room each, in the gateway and in the model. */
class World {
  readonly model = new Model();
  readonly #tokens = new Map<string, string>();
  readonly #gateway: TestGateway;
  readonly #locationId: string;
  readonly #devices: readonly string[];
  /** The connections of the devices: a connection for each alarm would take most of the time. */
  readonly #sensors: readonly MqttClient[];
  readonly #groups: readonly string[];
  readonly #rooms: readonly string[];

  private constructor(
    gateway: TestGateway,
    locationId: string,
    devices: readonly string[],
    sensors: readonly MqttClient[],
    groups: readonly string[],
    rooms: readonly string[],
  ) {
    this.#gateway = gateway;
    this.#locationId = locationId;
    this.#devices = devices;
    this.#sensors = sensors;
    this.#groups = groups;
    this.#rooms = rooms;
  }

  static async create(gateway: TestGateway): Promise<World> {
    const locationId = await gateway.createLocation();
    const devices: string[] = [];
    const groups: string[] = [];
    const rooms: string[] = [];
    for (let number = 0; number < 2; number++) {
      devices.push(await gateway.createDevice(locationId));
      const groupId = await gateway.createGroup(locationId);
      groups.push(groupId);
      rooms.push(await gateway.createRoom(locationId, groupId));
    }
    const sensors = await Promise.all(devices.map((id) => gateway.connectDevice(id)));
    return new World(gateway, locationId, devices, sensors, groups, rooms);
  }

  async end(): Promise<void> {
    await Promise.all(this.#sensors.map((sensor) => sensor.endAsync()));
  }

  async move({ device: number, to }: Move): Promise<void> {
    const target = { targetRoomId: to === undefined ? null : this.#rooms[to] };
    const id = this.#devices[number] ?? '';
    expect((await this.#gateway.moveDevice(this.#locationId, id, target)).status).toBe(204);
    this.model.groupOf[number] = to;
  }

  async record(arriving: Arrival): Promise<void> {
    const id = crypto.randomUUID();
    const alarm = { kind: arriving.kind, detectedAt: at(arriving.at), id };
    const topic = `devices/${this.#devices[arriving.device]}/alarms`;
    // Acknowledged once it is in the history.
    await this.#sensors[arriving.device]?.publishAsync(topic, JSON.stringify(alarm), { qos: 1 });
    this.model.alarms.push({ ...arriving, id, group: this.model.groupOf[arriving.device] });
  }

  /** Follows the cursors to the end; each page except the last must be full. */
  async list(query: Listing): Promise<string[]> {
    const token = await this.#tokenFor(query.groups);
    const ids: string[] = [];
    let cursor: string | null = null;
    let turn = 0;
    do {
      const limit = query.limits[turn % query.limits.length] ?? 1;
      const { events, nextCursor } = await this.#page(query, limit, cursor, token);
      if (nextCursor !== null) expect(events).toHaveLength(limit);
      ids.push(...events.map(({ id }) => id));
      for (const arriving of query.arriving[turn] ?? []) await this.record(arriving);
      cursor = nextCursor;
      turn++;
    } while (cursor !== null);
    return ids;
  }

  async isForbidden(query: Listing): Promise<boolean> {
    const token = await this.#tokenFor(query.groups);
    const answer = await this.#gateway.call('GET', this.#path(query), { token });
    return answer.status === 403 && failure(answer) === '403 forbidden';
  }

  async #page(query: Listing, limit: number, cursor: string | null, token: string) {
    const parameters = new URLSearchParams({ order: query.order, limit: String(limit) });
    if (query.kinds !== undefined) parameters.set('kinds', query.kinds.join(','));
    if (query.after !== undefined) parameters.set('after', at(query.after));
    if (query.before !== undefined) parameters.set('before', at(query.before));
    if (cursor !== null) parameters.set('cursor', cursor);
    const answer = await this.#gateway.call('GET', `${this.#path(query)}?${parameters}`, { token });
    expect(answer.status).toBe(200);
    return pageSchema.parse(answer.json);
  }

  #path({ device: number }: Listing): string {
    const location = `/care-homes/${this.#locationId}`;
    return number === undefined
      ? `${location}/alarms`
      : `${location}/devices/${this.#devices[number]}/alarms`;
  }

  async #tokenFor(groups: readonly number[] | undefined): Promise<string> {
    if (groups === undefined) return ADMIN_TOKEN;
    const known = this.#tokens.get(String(groups));
    if (known !== undefined) return known;
    const grants = groups.map((number) => {
      return { location: this.#locationId, group: this.#groups[number], role: 'viewer' as const };
    });
    const token = await this.#gateway.createToken(grants);
    this.#tokens.set(String(groups), token);
    return token;
  }
}

it('lists exactly the alarms that existed at the first page when cursors are followed, whatever arrives', async () => {
  const gateway = await startGateway(redis);
  const steps = fc.array(
    fc.oneof({ weight: 4, arbitrary: arrival }, { weight: 1, arbitrary: move }),
    {
      maxLength: 20,
      size: 'max',
    },
  );
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(listing, { minLength: 1, maxLength: 4 }),
      async (all, queries) => {
        const world = await World.create(gateway);
        for (const step of all) {
          if ('to' in step) await world.move(step);
          else await world.record(step);
        }
        for (const query of queries) {
          const { groupOf } = world.model;
          const isCovered =
            query.device === undefined ||
            query.groups === undefined ||
            query.groups.some((group) => group === groupOf[query.device ?? 0]);
          if (isCovered) {
            const expected = world.model.expected(query);
            expect(await world.list(query)).toEqual(expected);
          } else {
            expect(await world.isForbidden(query)).toBe(true);
          }
        }
        await world.end();
      },
    ),
    { numRuns: 12 },
  );
});
