import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/ids.js';
import type {
  AccessToken,
  Device,
  Group,
  Location,
  RecordChange,
  RecordKind,
  RecordOfKind,
  Room,
} from '../../src/domain/site.js';
import { type AuditEntry, GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { SiteChanges } from '../../src/site/changes.js';
import { Health } from '../../src/site/health/health.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { SiteModel } from '../../src/site/site-model.js';
import { AuditStore } from '../../src/store/audit.js';
import { keysOf } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site/site-store.js';
import { Store } from '../../src/store/store.js';

/** A separate site in a real Redis: a location with a group, a room, two devices and a token. */
export class SiteWorld {
  readonly redis: Redis;
  readonly keys = keysOf(newId());
  readonly store: SiteStoreRedis;
  readonly model = new SiteModel();
  readonly health = new Health();
  /** Lines of the log. */
  readonly logged: string[] = [];
  readonly changes: SiteChanges;
  readonly location: Location = { id: newId(), name: 'Haus am See', order: 1 };
  readonly group: Group = { id: newId(), locationId: this.location.id, name: 'Nord', order: 2 };
  readonly room: Room = { ...this.group, id: newId(), groupId: this.group.id, order: 3 };
  readonly device: Device = {
    id: newId(),
    locationId: this.location.id,
    roomId: null,
    name: 'Bett 1',
    order: 4,
    createdAtMs: 1,
    secretHash: 'ab',
    customData: '{"bed":1}',
  };
  readonly placed: Device = { ...this.device, id: newId(), roomId: this.room.id, order: 5 };
  readonly token: AccessToken = {
    id: newId(),
    name: 'nurse call',
    tokenHash: 'cd',
    order: 6,
    createdAtMs: 1,
    grants: [{ location: '*', role: 'viewer' }],
    expiresAtMs: null,
  };

  private constructor(socketPath: string) {
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
    const log = pino({}, { write: (line: string) => this.logged.push(line) });
    const [door, keys] = [new Store(this.redis, this.keys.sitePrefix), this.keys];
    const audit = new AuditStore({ store: door, keys, steadyNow: Date.now, log });
    this.store = new SiteStoreRedis(door, keys, audit);
    const { store, model, health } = this;
    this.changes = new SiteChanges({
      store,
      model,
      health,
      log,
      now: () => 1,
      headroom: new StoreHeadroom(),
    });
    onTestFinished(() => this.changes.stop());
  }

  static async create({ socketPath }: { socketPath: string }): Promise<SiteWorld> {
    const world = new SiteWorld(socketPath);
    const { location, group, room, device, placed, token } = world;
    await world.change(
      { kind: 'location', before: undefined, after: location },
      { kind: 'group', before: undefined, after: group },
      { kind: 'room', before: undefined, after: room },
      { kind: 'device', before: undefined, after: device },
      { kind: 'device', before: undefined, after: placed },
      { kind: 'access-token', before: undefined, after: token },
    );
    return world;
  }

  /** One of the stored records of this kind. */
  recordOf(kind: RecordKind): RecordOfKind[RecordKind] {
    const { location, group, room, device, token } = this;
    return { location, group, room, device, 'access-token': token }[kind];
  }

  /** Changes fields of a stored record; undefined removes one. */
  async rewrite(
    kind: RecordKind,
    id: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const key = this.keys.siteRecords(kind);
    const record = JSON.parse((await this.redis.hget(key, id)) ?? '');
    await this.redis.hset(key, id, JSON.stringify({ ...record, ...fields }));
  }

  /** Changes the stored site as another gateway does. */
  async change(...records: readonly RecordChange[]): Promise<void> {
    const { revision } = await this.store.load();
    const entry: AuditEntry = {
      action: 'location.changed',
      actor: GATEWAY_ACTOR,
      atMs: 1,
      locationId: null,
      resourceId: 'x',
      details: {},
    };
    expect(await this.store.change(records, entry, revision)).toBe(true);
  }

  /** The records of an intact site, in the order of creation. */
  get records() {
    return {
      location: [this.location],
      group: [this.group],
      room: [this.room],
      device: [this.device, this.placed],
      'access-token': [this.token],
    };
  }

  async load() {
    const { records, unreadable } = await this.store.load();
    const device = records.device.toSorted((one, other) => one.order - other.order);
    return { records: { ...records, device }, unreadable: [...unreadable] };
  }
}
