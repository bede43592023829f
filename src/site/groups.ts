import { newId } from '../domain/notation.js';
import type { Group } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import { NO_GROUP } from './absences.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { GroupKey, SiteStore } from './site-store.js';

/** The groups of the site. Names are already parsed (`parseName`). */
export class Groups {
  readonly #store: SiteStore;
  readonly #model: SiteModel;
  readonly #events: SiteEvents;
  readonly #now: () => number;

  constructor(store: SiteStore, model: SiteModel, events: SiteEvents, now: () => number) {
    this.#store = store;
    this.#model = model;
    this.#events = events;
    this.#now = now;
  }

  /** @throws GatewayError `location-not-found` */
  async create(actor: Actor, locationId: string, name: string): Promise<Group> {
    const group: Group = { id: newId(), locationId, name, order: this.#model.nextOrder() };
    await this.#store.createGroup(
      group,
      this.#entry(actor, 'group.created', { locationId, groupId: group.id }, { name }),
    );
    this.#model.putGroup(group);
    return group;
  }

  /** @throws GatewayError `group-not-found` */
  async rename(actor: Actor, key: GroupKey, name: string): Promise<Group> {
    await this.#store.renameGroup(key, name, this.#entry(actor, 'group.changed', key, { name }));
    const group = { ...this.get(key), name };
    this.#model.putGroup(group);
    const rooms = this.#model.roomsOf(key.locationId).filter(({ groupId }) => groupId === group.id);
    const roomIds = new Set(rooms.map(({ id }) => id));
    for (const deviceId of this.#model.deviceIdsIn(key.locationId, roomIds)) {
      this.#events.emit('deviceChanged', deviceId);
    }
    return group;
  }

  /** @throws GatewayError `group-not-found`, `group-has-rooms` */
  async delete(actor: Actor, key: GroupKey): Promise<void> {
    await this.#store.deleteGroup(key, this.#entry(actor, 'group.deleted', key));
    this.#model.removeGroup(key.groupId);
  }

  /** @throws GatewayError `group-not-found` when it is not in this location */
  get(key: GroupKey): Group {
    const group = this.#model.groupIn(key);
    if (group === undefined) throw GatewayError.of(NO_GROUP);
    return group;
  }

  #entry(
    actor: Actor,
    action: AuditAction,
    { locationId, groupId }: GroupKey,
    details: AuditEntry['details'] = {},
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), locationId, resourceId: groupId, details };
  }
}
