import { Redis } from 'ioredis';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import type { AccessToken, Device, Group, Location, Room } from '../../src/domain/site.js';
import { type AuditAction, type AuditEntry, GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Health } from '../../src/site/health.js';
import { SiteEvents } from '../../src/site/site-events.js';
import { SiteFaults } from '../../src/site/site-faults.js';
import { SiteModel } from '../../src/site/site-model.js';
import { SiteReload } from '../../src/site/site-reload.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { Keys } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site-store-redis.js';

const RECHECK_MS = 20;

/** A site of its own in a real Redis: a location with a group, a room, two devices and a token. */
export class SiteWorld {
  readonly redis: Redis;
  readonly keys = new Keys(newId());
  readonly store: SiteStoreRedis;
  readonly model = new SiteModel();
  readonly events = new SiteEvents();
  readonly health = new Health();
  /** Lines of the log. */
  readonly logged: string[] = [];
  readonly reload: SiteReload;
  readonly location: Location = { id: newId(), name: 'Haus am See', order: 1 };
  readonly group: Group = { id: newId(), locationId: this.location.id, name: 'Nord', order: 2 };
  readonly room: Room = { ...this.group, id: newId(), groupId: this.group.id, order: 3 };
  readonly device: Device = {
    ...{ id: newId(), locationId: this.location.id, roomId: null, name: 'Bett 1', order: 4 },
    ...{ createdAtMs: 1, secretHash: 'ab', customData: '{"bed":1}', limits: {} },
  };
  readonly placed: Device = { ...this.device, id: newId(), roomId: this.room.id, order: 5 };
  readonly token: AccessToken = {
    ...{ id: newId(), name: 'nurse call', tokenHash: 'cd', order: 6, createdAtMs: 1 },
    ...{ grants: [{ location: '*', role: 'viewer' }], expiresAtMs: null, isExpiryNoted: false },
  };

  private constructor(socketPath: string) {
    this.redis = new Redis({ path: socketPath });
    onTestFinished(() => this.redis.disconnect());
    this.store = new SiteStoreRedis(this.redis, this.keys, new AuditRecords(this.keys));
    const log = pino({}, { write: (line: string) => this.logged.push(line) });
    const faults = new SiteFaults(this.health, log);
    const { store, model, events } = this;
    this.reload = new SiteReload({ store, model, events, faults, recheckMs: RECHECK_MS, log });
    onTestFinished(() => this.reload.stop());
  }

  static async create({ socketPath }: { socketPath: string }): Promise<SiteWorld> {
    const world = new SiteWorld(socketPath);
    const { store, location, group, room, device, placed, token } = world;
    const { id: locationId } = location;
    await store.createLocation(location, entry('location.created', locationId));
    await store.createGroup(group, entry('group.created', locationId));
    await store.createRoom(room, entry('room.created', locationId));
    for (const one of [device, { ...placed, roomId: null }]) {
      await store.createDevice(one, entry('device.created', locationId));
    }
    const key = { locationId, deviceId: placed.id };
    await store.moveDevice(key, { locationId, roomId: room.id }, entry('device.moved', locationId));
    await store.createAccessToken(token, entry('access-token.created', null));
    return world;
  }

  /** The records of an intact site, in the order of creation. */
  get records() {
    return {
      locations: [this.location],
      groups: [this.group],
      rooms: [this.room],
      devices: [this.device, this.placed],
      accessTokens: [this.token],
    };
  }

  async load() {
    const { records, findings } = await this.store.load();
    const devices = records.devices.toSorted((one, other) => one.order - other.order);
    const repaired = await this.store.repairMembers(records);
    return { records: { ...records, devices }, findings: [...findings, ...repaired] };
  }
}

export function entry(action: AuditAction, locationId: string | null): AuditEntry {
  return { action, actor: GATEWAY_ACTOR, atMs: 1, locationId, resourceId: 'x', details: {} };
}
