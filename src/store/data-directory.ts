import { randomBytes } from 'node:crypto';
import { closeSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import { writeDurably } from './durable-file.js';
import { lockFile } from './file-lock.js';

const TOKEN_BYTES = 32;
/** The form of generated tokens; one written by hand must not be shorter. */
const USABLE_TOKEN = /^[!-~]{16,}$/;
const ADMIN_TOKEN = 'admin.token';

/** Creates the data directory for the gateway's user only, unless it exists. */
export async function createDataDirectory(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    // The path or a part of it may be a file.
    const isFile = ['EEXIST', 'ENOTDIR'].includes(systemErrorCode(cause) ?? '');
    const detail = isFile
      ? `${dataDir} is to be a directory, but a file is in its place: set dataDir`
      : `${dataDir} cannot be created`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}

/**
 * Locks the data directory, which must exist, for this process.
 *
 * The lock holds until the returned function is called or the process ends, `kill -9` included.
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
 * Loads the first administrator's token, for a configuration without one.
 *
 * `<dataDir>/admin.token` is written at the first start (CONTRACT 1, first admin).
 *
 * @param beforeWriting called before a new one is written, which is not in use until this resolves
 */
export function loadAdminToken(
  dataDir: string,
  beforeWriting: () => Promise<void>,
): Promise<string> {
  return loadToken(dataDir, ADMIN_TOKEN, beforeWriting);
}

/** The path of the administrator's token. */
export function adminTokenFile(dataDir: string): string {
  return join(dataDir, ADMIN_TOKEN);
}

/**
 * Loads the key that signs the gateway's own footage URLs.
 *
 * `<dataDir>/footage.key` keeps it, so URLs outlive a restart. Removing the file ends them all with the
 * next start.
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

/** Writes a token durably: a power cut must not leave an empty file. */
async function writeToken(file: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  try {
    await writeDurably(file, `${token}\n`);
  } catch (cause) {
    throw new GatewayError('start-failed', `${file} cannot be written`, { cause });
  }
  return token;
}
