import { randomBytes } from 'node:crypto';
import { closeSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import { writeDurably } from './durable-file.js';
import { lockFile } from './file-lock.js';

const TOKEN_BYTES = 32;
/** The form of generated tokens; one put there by hand must not be shorter. */
const USABLE_TOKEN = /^[!-~]{16,}$/;
const ADMIN_TOKEN = 'admin.token';

/** Creates the data directory, for the gateway's own user only; one that exists is left as it is. */
export async function createDataDirectory(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    // The path, or a part of it, is a file.
    const isFile = ['EEXIST', 'ENOTDIR'].includes(systemErrorCode(cause) ?? '');
    const detail = isFile
      ? `${dataDir} is to be a directory, but a file is in its place: set dataDir`
      : `${dataDir} cannot be created`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}

/**
 * Claims the data directory, which must exist, for this process until the returned function is
 * called or the process ends, by `kill -9` too.
 */
export function lockDataDirectory(dataDir: string): () => void {
  const descriptor = lockFile(join(dataDir, 'gateway.lock'));
  if (descriptor === undefined) {
    throw new GatewayError('start-failed', `another gateway is running on ${dataDir}`);
  }
  let held = true;
  return () => {
    if (held) closeSync(descriptor);
    held = false;
  };
}

/**
 * The first administrator's token where the configuration has none: what `<dataDir>/admin.token`
 * holds, written there at the first start (CONTRACT 1, first admin).
 *
 * @param beforeWriting called before a new one is written: it is not in use before this resolves
 */
export function loadAdminToken(
  dataDir: string,
  beforeWriting: () => Promise<void>,
): Promise<string> {
  return loadToken(dataDir, ADMIN_TOKEN, beforeWriting);
}

/** Where it is. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, ADMIN_TOKEN);
}

/**
 * Loads the key that signs the gateway's own footage URLs: kept in `<dataDir>/footage.key`, so that
 * they outlive a restart. Removing the file ends every URL with the next start.
 */
export function loadFootageKey(dataDir: string): Promise<string> {
  return loadToken(dataDir, 'footage.key');
}

/** Loads the key from which all other secrets are derived: `<dataDir>/installation.key`. */
export function loadInstallationKey(dataDir: string): Promise<string> {
  return loadToken(dataDir, 'installation.key');
}

async function loadToken(
  dataDir: string,
  name: string,
  beforeWriting?: () => Promise<void>,
): Promise<string> {
  await createDataDirectory(dataDir);
  const file = join(dataDir, name);
  const token = (await readIfExists(file))?.trim();
  if (token === undefined) {
    await beforeWriting?.();
    return writeToken(file);
  }
  if (!USABLE_TOKEN.test(token)) {
    throw new GatewayError(
      'start-failed',
      `${file} holds no token of at least 16 characters; remove it to have a new one generated`,
    );
  }
  return token;
}

async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new GatewayError('start-failed', `${file} cannot be read`, { cause });
  }
}

/** Complete or not there at all: a power cut must not leave an empty token behind. */
async function writeToken(file: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  try {
    await writeDurably(file, `${token}\n`);
  } catch (cause) {
    throw new GatewayError('start-failed', `${file} cannot be written`, { cause });
  }
  return token;
}
