import { newId } from '../domain/ids.js';
import type { Group, Location, RecordChange, Room } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { Actor } from './audit-trail.js';
import type { SiteChanges } from './site-changes.js';
import type { SiteModel } from './site-model.js';

/** The locations of the site. Names are already parsed (`parseText`). */
export class Locations {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;

  constructor(changes: SiteChanges, model: SiteModel) {
    this.#changes = changes;
    this.#model = model;
  }

  create(actor: Actor, name: string): Promise<Location> {
    return this.#changes.make(actor, () => {
      const after = { id: newId(), name, order: this.#model.nextOrder() };
      const records = [{ kind: 'location', before: undefined, after }] as const;
      return { action: 'location.created', details: { name }, records, result: after };
    });
  }

  /** @throws GatewayError `location-not-found` */
  rename(actor: Actor, id: string, name: string): Promise<Location> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireLocation(id);
      const after = { ...before, name };
      const details = { name, previousName: before.name };
      const records = [{ kind: 'location', before, after }] as const;
      return { action: 'location.changed', details, records, result: after };
    });
  }

  /**
   * Deletes the location with its groups and rooms, which get no audit entries of their own.
   *
   * @throws GatewayError `location-not-found`, `location-has-devices`
   */
  delete(actor: Actor, id: string): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireLocation(id);
      if (this.#model.devicesWithin(new Set([id])).length > 0) {
        throw new GatewayError(
          'location-has-devices',
          'Devices are still assigned to the location.',
        );
      }
      const groups = this.#model.groupsOf(id);
      const rooms = this.#model.roomsOf(id);
      const within: RecordChange[] = [
        ...groups.map((group) => ({ kind: 'group', before: group, after: undefined }) as const),
        ...rooms.map((room) => ({ kind: 'room', before: room, after: undefined }) as const),
      ];
      return {
        action: 'location.deleted',
        details: { groups: named(groups), rooms: named(rooms), name: before.name },
        records: [{ kind: 'location', before, after: undefined }, ...within],
        result: undefined,
      };
    });
  }
}

function named(records: readonly (Group | Room)[]): string {
  return JSON.stringify(records.map(({ id, name }) => ({ id, name })));
}
