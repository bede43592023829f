import type { Principal } from '../domain/grants.js';
import type { DeviceLimits, TokenLimits } from '../domain/limits.js';

/** The limits that hold for each principal: those of the configuration, and of a device its own. */
export class PrincipalLimits {
  readonly #device: DeviceLimits;
  readonly #token: TokenLimits;

  constructor({ device, token }: { readonly device: DeviceLimits; readonly token: TokenLimits }) {
    this.#device = device;
    this.#token = token;
  }

  readonly of = (principal: Principal): DeviceLimits | TokenLimits =>
    principal.type === 'device' ? this.ofDevice(principal.id) : this.#token;

  readonly ofDevice = (_id: string): DeviceLimits => this.#device;
}
