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
  /**
   * What messages say of the device with this id is another now: its custom data, its name, its room,
   * or the name or group of the place where it is. Not when it has moved to another location.
   */
  deviceChanged: [deviceId: string];
}> {}
