import type { Measure } from '../measure.js';
import { BRIDGE } from './bridge.js';
import { DRAIN } from './drain.js';
import { HISTORY } from './history.js';
import { IDLE_MEMORY } from './idle-memory.js';
import { LATENCY } from './latency.js';
import { PAGES_UNDER_LOAD } from './pages-under-load.js';
import { RECONNECT } from './reconnect.js';
import { START_UP } from './start-up.js';
import { SUSTAINED } from './sustained.js';
import { TELEMETRY } from './telemetry.js';

/** In the order of a run. */
export const MEASURES: readonly Measure[] = [
  SUSTAINED,
  LATENCY,
  TELEMETRY,
  DRAIN,
  RECONNECT,
  IDLE_MEMORY,
  HISTORY,
  PAGES_UNDER_LOAD,
  START_UP,
  BRIDGE,
];
