import { AEDES, AEDES_REDIS } from './aedes.js';
import type { Contestant } from './contestant.js';
import { ENRICHER } from './enricher.js';
import { GATEWAY } from './gateway.js';
import { MOSQUITTO } from './mosquitto.js';

/** In the order of a round. */
export const CONTESTANTS: readonly Contestant[] = [
  GATEWAY,
  AEDES,
  AEDES_REDIS,
  ENRICHER,
  MOSQUITTO,
];
