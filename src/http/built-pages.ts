import { GatewayError } from '../errors.js';

/**
 * Reads what `npm run build` has put into a directory for browsers.
 *
 * @throws GatewayError `start-failed` when it is not there
 */
export function readBuilt<Pages>(directory: string, read: () => Pages): Pages {
  try {
    return read();
  } catch (cause) {
    const detail = `the console in ${directory} cannot be read: npm ci && npm run build`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}
