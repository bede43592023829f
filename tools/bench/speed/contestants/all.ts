import { AEDES, AEDES_REDIS } from './aedes.js';
import type { Contestant } from './contestant.js';
import { ENRICHER } from './enricher.js';
import { GATEWAY } from './gateway.js';
import { MOSQUITTO } from './mosquitto.js';

/** In the order in which a round has them. */
export const CONTESTANTS: readonly Contestant[] = [
  GATEWAY,
  AEDES,
  AEDES_REDIS,
  ENRICHER,
  MOSQUITTO,
];
