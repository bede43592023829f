import { randomBytes } from 'node:crypto';
import { readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { formatTime } from '../domain/notation.js';
import { createDataDirectory } from './data-directory.js';
import { unlessMissing, writeDurably } from './durable-file.js';

const SECRET_BYTES = 32;
/** The form of a usable secret, whether generated or written by hand. */
const USABLE = /^[!-~]{16,}$/;
const ANY_OTHER_USER = 0o077;

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
  const text = randomBytes(SECRET_BYTES).toString('base64url');
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
  if (USABLE.test(secret)) {
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
