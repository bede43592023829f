import { EventEmitter } from 'node:events';
import type { Device } from '../domain/site.js';

/** Changes of the site for other parts to act on. */
export class SiteEvents extends EventEmitter<{
  /** The credential of this principal (`principalKey`) is no longer valid. */
  credentialEnded: [principal: string];
  /** The principal (`principalKey`) is gone, or its token expired for good; its sessions and messages go too. */
  principalRemoved: [principal: string];
  /** The access token with this id was changed or deleted. */
  tokenChanged: [id: string];
  /** The device as it was before it was deleted. */
  deviceDeleted: [device: Device];
  /** A device has moved to another location. */
  deviceMoved: [move: { readonly before: Device; readonly after: Device }];
  /**
   * Messages describe this device differently from now on: its custom data, name or room has changed, or
   * the name or group of its place. Not emitted for a move to another location.
   */
  deviceChanged: [deviceId: string];
}> {}
