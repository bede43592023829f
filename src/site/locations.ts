import { newId } from '../domain/notation.js';
import type { Group, Location, Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import { NO_LOCATION } from './absences.js';
import type { Actor, AuditAction, AuditEntry } from './audit-trail.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { SiteStore } from './site-store.js';

/** The locations of the site. Names are already parsed (`parseName`). */
export class Locations {
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

  list(): Location[] {
    return this.#model.locations();
  }

  async create(actor: Actor, name: string): Promise<Location> {
    const location = { id: newId(), name, order: this.#model.nextOrder() };
    await this.#store.createLocation(
      location,
      this.#entry(actor, 'location.created', location.id, { name }),
    );
    this.#model.putLocation(location);
    return location;
  }

  /** @throws GatewayError `location-not-found` */
  async rename(actor: Actor, id: string, name: string): Promise<Location> {
    await this.#store.renameLocation(
      id,
      name,
      this.#entry(actor, 'location.changed', id, { name }),
    );
    const location = { ...this.get(id), name };
    this.#model.putLocation(location);
    for (const deviceId of this.#model.deviceIdsIn(id))
      this.#events.emit('deviceChanged', deviceId);
    return location;
  }

  /** @throws GatewayError `location-not-found`, `location-has-devices` */
  async delete(actor: Actor, id: string): Promise<void> {
    // Groups and rooms are deleted with the location, without audit entries of their own.
    const details = {
      groups: JSON.stringify(this.#model.groupsOf(id).map(named)),
      rooms: JSON.stringify(this.#model.roomsOf(id).map(named)),
    };
    await this.#store.deleteLocation(id, this.#entry(actor, 'location.deleted', id, details));
    this.#model.removeLocation(id);
  }

  /** @throws GatewayError `location-not-found` */
  get(id: string): Location {
    const location = this.#model.location(id);
    if (location === undefined) throw GatewayError.of(NO_LOCATION);
    return location;
  }

  #entry(
    actor: Actor,
    action: AuditAction,
    id: string,
    details: AuditEntry['details'] = {},
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), locationId: id, resourceId: id, details };
  }
}

function named({ id, name }: Group | Room): { id: string; name: string } {
  return { id, name };
}
