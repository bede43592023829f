import { EventEmitter } from 'node:events';
import type { Device } from '../domain/site.js';

/** What others must act upon when the site changes. */
export class SiteEvents extends EventEmitter<{
  /** The credential of this principal (`principalKey`) is no longer valid. */
  credentialEnded: [principal: string];
  /** The principal (`principalKey`) itself is gone, and whatever it left behind goes with it. */
  principalRemoved: [principal: string];
  /** The device as it was before it was deleted. */
  deviceDeleted: [device: Device];
  /** A device is in another location now. */
  deviceMoved: [move: { readonly before: Device; readonly after: Device }];
  /** The device with this id is in another group of its location now, or in none. */
  deviceRegrouped: [deviceId: string];
  /** A device's name, place or custom data is another one now. */
  deviceChanged: [device: Device];
}> {}
