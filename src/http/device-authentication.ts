import type { MiddlewareHandler } from 'hono';
import { GatewayError } from '../errors.js';
import type { Denials } from '../site/denials.js';
import type { Devices } from '../site/devices.js';
import { actorOf, addressOf, requestDetails } from './actor.js';
import { enforceThrottle } from './authentication.js';
import type { FailureThrottle } from './failure-throttle.js';
import type { HttpEnv } from './http-env.js';
import { addStandingCheck } from './standing-checks.js';

const CHALLENGE = 'Basic realm="care-home-gateway", charset="UTF-8"';
/** RFC 7617, 2; the scheme is case-insensitive (RFC 9110, 11.1). */
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Lets only a device through that shows its id and its secret by HTTP Basic, and only on a path of its
 * own: any other id is 403, whether or not there is such a device. An address with too many failures
 * waits, but for valid secrets, which are all of the gateway's own making, as with access tokens.
 */
export function deviceAuthentication(
  devices: Devices,
  throttle: FailureThrottle,
  denials: Denials,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    c.set('challenge', CHALLENGE);
    const encoded = BASIC.exec(c.req.header('Authorization') ?? '')?.[1];
    if (encoded === undefined) {
      throw new GatewayError('unauthenticated', "A device's id and secret are required.");
    }
    const { id, secret } = credentialsOf(encoded);
    const device = devices.authenticate(id.toLowerCase(), secret);
    if (device === undefined) {
      denials.addFailedLogin(actorOf(c), requestDetails(c));
      enforceThrottle(c, throttle);
      throttle.add(addressOf(c) ?? '');
      throw invalidCredentials();
    }
    c.set('device', device);
    addStandingCheck(c, () => {
      if (devices.authenticate(device.id, secret) === undefined) throw invalidCredentials();
    });
    if (c.req.param('deviceId')?.toLowerCase() !== device.id) {
      throw new GatewayError('forbidden', 'A device may do this for itself only.');
    }
    await next();
  };
}

function invalidCredentials(): GatewayError {
  return new GatewayError('unauthenticated', 'The id or the secret is not valid.');
}

/** The id ends at the first colon (RFC 7617, 2); the secret is compared as bytes. */
function credentialsOf(encoded: string): { id: string; secret: Uint8Array } {
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(':');
  const end = colon === -1 ? bytes.length : colon;
  return { id: bytes.toString('utf8', 0, end), secret: bytes.subarray(end + 1) };
}
