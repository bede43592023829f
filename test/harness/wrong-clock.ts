import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The directory of libraries: Debian's `faketime` is in that of the machine's architecture. */
const LIBRARIES = '/usr/lib';
const LIBRARY = 'faketime/libfaketimeMT.so.1';

/**
 * The wall clock of a gateway, set wrong by a test, also between starts (libfaketime).
 *
 * The monotonic clock stays right, as a machine's does.
 */
export class WrongClock {
  readonly #directory = mkdtempSync(join(tmpdir(), 'gateway-clock-'));
  readonly #file = join(this.#directory, 'offset');

  constructor(offsetSeconds = 0) {
    this.set(offsetSeconds);
  }

  /** Variables for the gateway, with frequent sweeps. Its store is not affected. */
  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: library(),
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      // The kernel sets the dates of files, by the machine's clock.
      NO_FAKE_STAT: '1',
      NODE_OPTIONS: `--import=${new URL('./hurried-intervals.mjs', import.meta.url)}`,
    };
  }

  /** Sets the offset from the real time; a running gateway sees it within a second. */
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
