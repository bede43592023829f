import type { Principal } from '../../domain/grants.js';
import type { DeviceLimits, TokenLimits } from '../../domain/limits.js';
import type { SiteModel } from '../site-model.js';

/** The limits of each principal: the configured ones, and a device's own. */
export class PrincipalLimits {
  readonly #device: DeviceLimits;
  readonly #token: TokenLimits;
  readonly #model: SiteModel;

  constructor(
    { device, token }: { readonly device: DeviceLimits; readonly token: TokenLimits },
    model: SiteModel,
  ) {
    this.#device = device;
    this.#token = token;
    this.#model = model;
  }

  readonly of = (principal: Principal): DeviceLimits | TokenLimits =>
    principal.type === 'device' ? this.ofDevice(principal.id) : this.#token;

  readonly ofDevice = (id: string): DeviceLimits => ({
    ...this.#device,
    ...this.#model.device(id)?.limits,
  });
}
