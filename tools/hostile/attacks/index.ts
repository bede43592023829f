import type { Attack } from '../attack.js';
import { CONNECTIONS } from './connections.js';
import { FLOODS } from './floods.js';
import { FOOTAGE } from './footage.js';
import { GUESSING } from './guessing.js';
import { MALFORMED } from './malformed.js';
import { SLOW } from './slow.js';
import { STORAGE } from './storage.js';
import { SUBSCRIPTIONS } from './subscriptions.js';
import { UPSTREAM } from './upstream.js';
import { WEB } from './web.js';
import { WEBSOCKET } from './websocket.js';

/** Every attack, in the order of the table. */
export const ATTACKS: readonly Attack[] = [
  ...STORAGE,
  ...FLOODS,
  ...WEB,
  ...CONNECTIONS,
  ...FOOTAGE,
  ...UPSTREAM,
  ...GUESSING,
  ...SUBSCRIPTIONS,
  ...SLOW,
  ...MALFORMED,
  ...WEBSOCKET,
];
