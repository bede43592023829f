import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatewayError } from '../errors.js';
import { createDataDirectory } from './data-directory.js';
import { unlessMissing, writeDurably } from './durable-file.js';

const SECRET_BYTES = 32;
/** The form of generated secrets; one written by hand must not be shorter. */
const USABLE = /^[!-~]{16,}$/;

/**
 * Loads a secret from its file in the data directory; generates it at the first start.
 *
 * @param beforeWriting called before a new one is written, which is not in use until this resolves
 * @throws GatewayError `start-failed`
 */
export async function loadSecret(
  file: string,
  beforeWriting?: () => Promise<void>,
): Promise<string> {
  await createDataDirectory(dirname(file));
  const secret = (await read(file))?.trim();
  if (secret === undefined) {
    await beforeWriting?.();
    return write(file);
  }
  if (!USABLE.test(secret)) {
    throw new GatewayError(
      'start-failed',
      `${file} holds no token of at least 16 characters; remove it to have a new one generated`,
    );
  }
  return secret;
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await unlessMissing(readFile(file, 'utf8'));
  } catch (cause) {
    throw new GatewayError('start-failed', `${file} cannot be read`, { cause });
  }
}

/** Writes a new secret durably: a power cut must not leave an empty file. */
async function write(file: string): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  try {
    await writeDurably(file, `${secret}\n`);
  } catch (cause) {
    throw new GatewayError('start-failed', `${file} cannot be written`, { cause });
  }
  return secret;
}
