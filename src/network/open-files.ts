import { z } from 'zod';

/** The parts of the files that the process may open; the rest is for the store, recordings and logs. */
const PART_OF_MQTT = 0.65;
const PART_OF_HTTP_LISTENER = 0.125;

/** The maximum numbers of connections, so that the process never runs out of files. */
export interface ConnectionShares {
  readonly mqtt: number;
  /** Of each of the two listeners. */
  readonly http: number;
}

/** Divides the files that the process may open. */
export function connectionShares(maxOpenFiles: number): ConnectionShares {
  return {
    mqtt: Math.floor(maxOpenFiles * PART_OF_MQTT),
    http: Math.floor(maxOpenFiles * PART_OF_HTTP_LISTENER),
  };
}

/** How many files this process may open, including sockets. */
export function maxOpenFiles(): number {
  const limit = z.union([z.number(), z.literal('unlimited')]);
  const report = z.object({ userLimits: z.object({ open_files: z.object({ soft: limit }) }) });
  const { soft } = report.parse(process.report.getReport()).userLimits.open_files;
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : soft;
}
