import type { Publishing } from './publishing.js';
import type { Subscribing } from './subscribing.js';
import type { ReadTurns } from './wire/packet-reader.js';

/** The parts that all clients share. */
export interface ClientParts {
  readonly maxPacketBytes: number;
  readonly turns: ReadTurns;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
}
