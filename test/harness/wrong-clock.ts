import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Debian's package `faketime` has it in a directory of the machine's architecture. */
const LIBRARIES = '/usr/lib';
const LIBRARY = 'faketime/libfaketimeMT.so.1';

/**
 * The wall clock of a gateway, which a test sets wrong, also between two of its starts (libfaketime). The
 * monotonic clock is right all the while, as a machine's is.
 */
export class WrongClock {
  readonly #directory = mkdtempSync(join(tmpdir(), 'gateway-clock-'));
  readonly #file = join(this.#directory, 'offset');

  constructor(offsetSeconds = 0) {
    this.set(offsetSeconds);
  }

  /** For the gateway; its sweeps come often. The store of its own is not affected. */
  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: library(),
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      // The dates of files are set by the kernel, whose clock is the machine's.
      NO_FAKE_STAT: '1',
      NODE_OPTIONS: `--import=${new URL('./hurried-intervals.mjs', import.meta.url)}`,
    };
  }

  /** So far ahead of the real time, or behind; a gateway that runs sees that within a second. */
  set(offsetSeconds: number): void {
    writeFileSync(this.#file, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}`);
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function library(): string {
  const paths = readdirSync(LIBRARIES).map((name) => join(LIBRARIES, name, LIBRARY));
  const found = paths.find((path) => existsSync(path));
  if (found === undefined) throw new Error('libfaketime is not installed');
  return found;
}
