import type { AccessTokens } from './access/access-tokens.js';
import type { SiteModel } from './site-model.js';

export const DESTINATION_TYPES = ['session', 'bridge', 'webhook'] as const;

/** Where alarms go, in terms that people know. */
export interface NamedDestination {
  readonly type: (typeof DESTINATION_TYPES)[number];
  /** The client id of a session, the name of a bridge or webhook. */
  readonly id: string;
  /** For a session, the name of its access token or device. */
  readonly name: string;
}

/** Names the destination whose session has this key: `<type of owner>:<id>/<client id>`. */
export function destinationOf(
  { model, accessTokens }: { readonly model: SiteModel; readonly accessTokens: AccessTokens },
  key: string,
): NamedDestination {
  const [, type = '', id = '', clientId = ''] = /^([a-z]+):([^/]*)\/(.*)$/s.exec(key) ?? [];
  if (type === 'bridge' || type === 'webhook') return { type, id, name: id };
  const name = type === 'device' ? (model.device(id)?.name ?? id) : accessTokens.nameOf(id);
  return { type: 'session', id: clientId, name };
}
