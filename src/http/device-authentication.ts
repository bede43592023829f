import type { MiddlewareHandler } from 'hono';
import { GatewayError } from '../errors.js';
import type { Denials } from '../site/denials.js';
import type { Devices } from '../site/devices.js';
import type { FailedLogins } from '../site/failed-logins.js';
import { actorOf, addressOf, requestDetails } from './actor.js';
import { tooManyFailures } from './authentication.js';
import { addStandingCheck, type HttpEnv } from './http-env.js';

const CHALLENGE = 'Basic realm="care-home-gateway", charset="UTF-8"';
/** RFC 7617, 2; the scheme is case-insensitive (RFC 9110, 11.1). */
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Lets only a device through that shows its id and its secret by HTTP Basic, and only on a path of its
 * own: any other id is 403, whether or not there is such a device.
 */
export function deviceAuthentication(
  devices: Devices,
  failedLogins: FailedLogins,
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
    const { result, waitMs } = failedLogins.judge({
      ...{ address: addressOf(c) ?? '', secret },
      name: devices.has(id.toLowerCase()) ? id.toLowerCase() : undefined,
      isValid: device !== undefined,
    });
    if (device === undefined || result !== 'admitted') {
      denials.addFailedLogin(actorOf(c), requestDetails(c));
      if (result === 'ignored') throw tooManyFailures(c, waitMs);
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
