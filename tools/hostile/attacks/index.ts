import type { Attack } from '../attack.js';
import { CONNECTIONS } from './connections.js';
import { FLOODS } from './floods.js';
import { MALFORMED } from './malformed.js';
import { STORAGE } from './storage.js';
import { SUBSCRIPTIONS } from './subscriptions.js';
import { WEB } from './web.js';

/** Every attack, in the order of the table. */
export const ATTACKS: readonly Attack[] = [
  ...STORAGE,
  ...FLOODS,
  ...WEB,
  ...CONNECTIONS,
  ...SUBSCRIPTIONS,
  ...MALFORMED,
];
