import type { FaultSubject } from '../../domain/fault.js';
import type { RecordKind } from '../../domain/site.js';
import type { SiteModel } from '../site-model.js';

/**
 * The holder or sender of too much, as the subject of a fault.
 *
 * @param holder a `principalKey`, `location:<id>` or `address:<address>`; anything else is an address
 */
export function holderSubject(model: SiteModel, holder: string): FaultSubject {
  const [, kind = '', id = ''] = /^([a-z]+):(.*)$/.exec(holder) ?? [];
  switch (kind) {
    case 'device':
    case 'location':
      return recordSubject(model, kind, id);
    case 'token':
      return recordSubject(model, 'access-token', id);
    case 'address':
      return { type: 'address', id, name: id };
    default:
      return { type: 'address', id: holder, name: holder };
  }
}

/** A record of the site as the subject of a fault. */
export function recordSubject(model: SiteModel, type: RecordKind, id: string): FaultSubject {
  const records = {
    'access-token': () => model.accessToken(id),
    location: () => model.location(id),
    group: () => model.group(id),
    room: () => model.room(id),
    device: () => model.device(id),
  };
  return { type, id, name: records[type]()?.name ?? id };
}
