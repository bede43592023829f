/** The gateway's own files: written durably, secrets with their rights, and the identity of the installation. */
import { createHmac } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { newSecret } from './domain/credentials.js';
import { formatTime } from './domain/time.js';
import { GatewayError, systemErrorCode } from './errors.js';

const FILE_MODE = 0o600;
const DRAFT_SUFFIX = '.new';

/** Writes a file atomically: after a power cut it is either complete or unchanged. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const draft = path + DRAFT_SUFFIX;
  try {
    // One that is left keeps the rights that it has.
    await rm(draft, { force: true });
    await writeFile(draft, content, { mode: FILE_MODE, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Syncs a directory: only this puts the names in it on disk. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The result of the read; undefined if the file does not exist. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The first administrator's token, in the data directory, unless it is in the configuration. */
export const ADMIN_TOKEN_FILE = 'admin.token';

const USABLE = /^[!-~]{16,}$/;
export const ANY_OTHER_USER = 0o077;

export interface Secret {
  readonly text: string;
  /** Whether it was just generated and is now in its file. */
  readonly isNew: boolean;
}

/**
 * Loads a secret from its file in the data directory; generates it at the first start.
 *
 * No file keeps the gateway from starting: a damaged file is set aside, and a secret that cannot be written is
 * valid until the next start.
 *
 * @param beforeWriting called before a new secret is written; the secret is not in use until this resolves
 */
export async function loadSecret(
  file: string,
  log: Logger,
  beforeWriting?: () => Promise<void>,
): Promise<Secret> {
  const text = newSecret();
  const notKept = (error: unknown): Secret => {
    log.error({ err: error, file }, 'failed to keep a secret, the next start makes another one');
    return { text, isNew: false };
  };
  try {
    await createDataDirectory(dirname(file));
    const present = await readUsable(file, log);
    if (present !== undefined) return { text: present, isNew: false };
  } catch (error) {
    return notKept(error);
  }
  await beforeWriting?.();
  return writeDurably(file, `${text}\n`).then(() => ({ text, isNew: true }), notKept);
}

/** Whether the text may be a secret, generated or written by hand. */
export function isUsableSecret(text: string): boolean {
  return USABLE.test(text);
}

/** Reads a secret; undefined if it is missing or damaged. Sets a damaged file aside. */
async function readUsable(file: string, log: Logger): Promise<string | undefined> {
  let secret: string | undefined = '';
  let failure: unknown;
  try {
    secret = (await unlessMissing(readFile(file, 'utf8')))?.trim();
  } catch (error) {
    failure = error;
  }
  if (secret === undefined) return undefined;
  if (isUsableSecret(secret)) {
    await warnOfReaders(file, log);
    return secret;
  }
  const movedTo = `${file}.damaged-${formatTime(Date.now())}`;
  await rename(file, movedTo);
  log.warn(
    { err: failure, file, movedTo },
    'set aside a damaged secret file: a new secret follows',
  );
  return undefined;
}

async function warnOfReaders(file: string, log: Logger): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & ANY_OTHER_USER) === 0) return;
  const shown = `0${(mode & 0o777).toString(8)}`;
  log.warn({ file, mode: shown }, 'other users may use a secret file: set its mode to 0600');
}

const NAME_LENGTH = 12;

/** The identity of this gateway, and the secrets derived from it. */
export class Installation {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** Loads the identity, or creates one. */
  static async load(dataDir: string, log: Logger): Promise<Installation> {
    const { text } = await loadSecret(join(dataDir, 'installation.key'), log);
    return new Installation(Buffer.from(text));
  }

  /** Its name among gateways that share an upstream. */
  get name(): string {
    return this.#derive('name').toString('hex').slice(0, NAME_LENGTH);
  }

  /** The key of cursors. A key derived from a token would let weak tokens be guessed from a cursor. */
  get cursorKey(): Buffer {
    return this.#derive('cursors');
  }

  #derive(purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(purpose).digest();
  }
}

/** Creates the data directory, for the gateway's user only, unless it exists. */
export async function createDataDirectory(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    // The path, or a part of it, may be a file.
    const isFile = ['EEXIST', 'ENOTDIR'].includes(systemErrorCode(cause) ?? '');
    const detail = isFile
      ? `${dataDir} is to be a directory, but a file is in its place: set dataDir`
      : `${dataDir} cannot be created`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}
