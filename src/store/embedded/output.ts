import { openSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

const MAX_FILE_BYTES = 1024 * 1024;
const LAST_LINES = 5;

/** Opens the file for a server's output and truncates it if long. Returns its descriptor. */
export function openOutput(file: string): number {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return openSync(file, bytes > MAX_FILE_BYTES ? 'w' : 'a', 0o600);
}

/** The last lines that a server has written; empty if unreadable. */
export async function lastOutput(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-LAST_LINES).join('; ');
}
