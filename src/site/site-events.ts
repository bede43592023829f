import type { Device } from '../domain/site.js';

/** Changes of the site for other parts to act on. */
interface SiteEventSubjects {
  /** The credential of this principal (`principalKey`) is no longer valid. */
  readonly credentialEnded: string;
  /** The principal (`principalKey`) is gone, or its token expired for good; its sessions and messages go too. */
  readonly principalRemoved: string;
  /** The access token with this id was changed or deleted. */
  readonly tokenChanged: string;
  /** The device as it was before it was deleted. */
  readonly deviceDeleted: Device;
  /** A device has moved to another location. */
  readonly deviceMoved: { readonly before: Device; readonly after: Device };
  /**
   * Messages describe this device differently from now on: its custom data, name or room has changed, or
   * the name or group of its place. Not emitted for a move to another location.
   */
  readonly deviceChanged: string;
}

type Listeners = {
  readonly [Name in keyof SiteEventSubjects]: ((subject: SiteEventSubjects[Name]) => void)[];
};

/**
 * Tells other parts of changes of the site.
 *
 * Each listener by itself: one that throws must not make a stored change fail, nor keep the others from an ended
 * credential.
 */
export class SiteEvents {
  readonly #onFailure: (error: unknown) => void;
  readonly #listeners: Listeners = {
    credentialEnded: [],
    principalRemoved: [],
    tokenChanged: [],
    deviceDeleted: [],
    deviceMoved: [],
    deviceChanged: [],
  };

  /** @param onFailure called with what a listener throws */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  on<Name extends keyof SiteEventSubjects>(
    name: Name,
    listener: (subject: SiteEventSubjects[Name]) => void,
  ): void {
    this.#listeners[name].push(listener);
  }

  emit<Name extends keyof SiteEventSubjects>(name: Name, subject: SiteEventSubjects[Name]): void {
    for (const listener of this.#listeners[name]) {
      try {
        listener(subject);
      } catch (error) {
        this.#onFailure(error);
      }
    }
  }
}
