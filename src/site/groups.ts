import { newId } from '../domain/ids.js';
import type { Group } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { Actor } from './audit-trail.js';
import type { SiteChanges } from './site-changes.js';
import type { GroupKey, SiteModel } from './site-model.js';

/** The groups of the site. Names are already parsed (`parseText`). */
export class Groups {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;

  constructor(changes: SiteChanges, model: SiteModel) {
    this.#changes = changes;
    this.#model = model;
  }

  /** @throws GatewayError `location-not-found` */
  create(actor: Actor, locationId: string, name: string): Promise<Group> {
    return this.#changes.make(actor, () => {
      this.#model.requireLocation(locationId);
      const after = { id: newId(), locationId, name, order: this.#model.nextOrder() };
      const records = [{ kind: 'group', before: undefined, after }] as const;
      return { action: 'group.created', details: { name }, records, result: after };
    });
  }

  /** @throws GatewayError `location-not-found`, `group-not-found` */
  rename(actor: Actor, key: GroupKey, name: string): Promise<Group> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireGroup(key);
      const after = { ...before, name };
      const details = { name, previousName: before.name };
      const records = [{ kind: 'group', before, after }] as const;
      return { action: 'group.changed', details, records, result: after };
    });
  }

  /** @throws GatewayError `location-not-found`, `group-not-found`, `group-has-rooms` */
  delete(actor: Actor, key: GroupKey): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = this.#model.requireGroup(key);
      if (this.#model.roomIdsByGroup(key.locationId).has(key.groupId)) {
        throw new GatewayError('group-has-rooms', 'Rooms are still assigned to the group.');
      }
      const records = [{ kind: 'group', before, after: undefined }] as const;
      const details = { name: before.name };
      return { action: 'group.deleted', details, records, result: undefined };
    });
  }
}
