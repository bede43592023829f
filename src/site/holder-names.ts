import type { SiteModel } from './site-model.js';

/**
 * Describes in a fault who holds or sends too much: by name, and by id, because names may be equal.
 *
 * @param holder a `principalKey`, `location:<id>` or `address:<address>`; anything else is its own name
 */
export function describeHolder(model: SiteModel, holder: string): string {
  const [, kind = '', id = ''] = /^([a-z]+):(.*)$/.exec(holder) ?? [];
  switch (kind) {
    case 'device': {
      const device = model.device(id);
      const location = model.location(device?.locationId ?? '');
      const place = location === undefined ? '' : ` of ${location.name}`;
      return `device ${withId(device?.name, id)}${place}`;
    }
    case 'token':
      return `access token ${withId(model.accessToken(id)?.name, id)}`;
    case 'location':
      return `location ${withId(model.location(id)?.name, id)}`;
    case 'address':
      return `address ${id}`;
    default:
      return holder;
  }
}

function withId(name: string | undefined, id: string): string {
  return name === undefined ? id : `${name} (${id})`;
}
