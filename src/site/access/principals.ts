import { type Principal, principalKey } from '../../domain/grants.js';
import type { SiteModel } from '../site-model.js';
import type { AccessTokens } from './access-tokens.js';

/** The devices and access tokens as owners of sessions. */
export class Principals {
  readonly #model: SiteModel;
  readonly #accessTokens: AccessTokens;

  constructor(model: SiteModel, accessTokens: AccessTokens) {
    this.#model = model;
    this.#accessTokens = accessTokens;
  }

  /** The principal with this `principalKey`, undefined when the device or token was deleted. */
  byKey(key: string): Principal | undefined {
    const [type, id = ''] = key.split(':');
    const principal: Principal | undefined =
      type === 'device' ? this.#device(id) : this.#accessTokens.owner(id);
    return principal !== undefined && principalKey(principal) === key ? principal : undefined;
  }

  #device(id: string): Principal | undefined {
    return this.#model.device(id) === undefined ? undefined : { type: 'device', id };
  }
}
