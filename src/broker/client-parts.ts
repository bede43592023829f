import type { Publishing } from './publishing.js';
import type { Subscribing } from './subscribing.js';
import type { Turns } from './wire/turns.js';

/** The parts that all clients share. */
export interface ClientParts {
  readonly maxPacketBytes: number;
  readonly turns: Turns;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
}
