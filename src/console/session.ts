/**
 * The access token of this tab, and what it may do.
 *
 * It is kept for the tab or, if wanted, for the device. Its rights decide what is shown; the gateway checks them again.
 */

import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { store, stored } from './kept.js';

/** The roles that give access to the console, the least first. */
const ROLES = ['viewer', 'responder', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** In a grant, and where a home is chosen: all of them, also those to come. */
export const ALL_HOMES = '*';

export interface Grant {
  readonly location: string;
  readonly group?: string | undefined;
  readonly role: Role | 'publisher';
}

/** The signed-in token, as `GET /access-tokens/current` shows it. */
interface Identity {
  readonly id: string;
  readonly name: string;
  readonly grants: readonly Grant[];
}

const STORED_AS = 'care-home-gateway.token';
const AREAS = ['sessionStorage', 'localStorage'] as const;

class Session {
  readonly #token = signal(
    stored('sessionStorage', STORED_AS) ?? stored('localStorage', STORED_AS),
  );
  readonly #identity = signal<Identity | undefined>(undefined);
  /** Whether the gateway refused the signed-in token: it is unknown or has expired. */
  readonly #wasRefused = signal(false);
  readonly #leaving = new Set<() => void>();

  readonly identity: ReadonlySignal<Identity | undefined> = this.#identity;
  readonly wasRefused: ReadonlySignal<boolean> = this.#wasRefused;
  readonly token: ReadonlySignal<string | null> = this.#token;
  readonly isAdmin = computed(() => this.#grants().some(({ role }) => role === 'admin'));

  /** Follows other tabs: a user who signs out in one must not stay signed in in another. */
  start(): void {
    addEventListener('storage', ({ key, oldValue, newValue }) => {
      const isGone = key === STORED_AS && newValue === null && oldValue === this.#token.peek();
      if (isGone && stored('sessionStorage', STORED_AS) === null) this.#clear();
    });
  }

  /**
   * Keeps a token; `identify` must follow.
   *
   * It never removes the device's token: other tabs depend on it.
   */
  signIn(token: string, isForDevice: boolean): void {
    // The same link was opened again: the identity is known or being requested.
    const isCurrent = token === this.#token.peek();
    if (isForDevice) {
      store('localStorage', STORED_AS, token);
      // The tab's own token would take precedence.
      store('sessionStorage', STORED_AS, null);
    } else if (!isCurrent) store('sessionStorage', STORED_AS, token);
    if (isCurrent) return;
    this.#leave();
    this.#wasRefused.value = false;
    this.#identity.value = undefined;
    this.#token.value = token;
  }

  identify(identity: Identity): void {
    this.#identity.value = identity;
  }

  /** The token of other tabs stays: a screen on the wall may depend on it. */
  signOut(): void {
    this.#remove(this.#token.peek());
    this.#clear();
  }

  /** Signs out because the gateway refuses the token, unless another has signed in since. */
  refused(token: string): void {
    if (this.#token.peek() !== token) return;
    this.#remove(token);
    this.#clear();
    this.#wasRefused.value = true;
  }

  /**
   * Whether the token has at least this role over the location, or in one of its groups.
   *
   * Without a location: over any.
   */
  may(role: Role, locationId?: string, groupId?: string | null): boolean {
    return this.#grants().some(
      (grant) =>
        grant.role !== 'publisher' &&
        ROLES.indexOf(grant.role) >= ROLES.indexOf(role) &&
        (locationId === undefined ||
          grant.location === ALL_HOMES ||
          grant.location === locationId) &&
        (groupId === undefined || grant.group === undefined || grant.group === groupId),
    );
  }

  /** Calls back before the token is gone or another, to send what needs it. @returns a function that ends this */
  beforeSignOut(listener: () => void): () => void {
    this.#leaving.add(listener);
    return () => this.#leaving.delete(listener);
  }

  #grants(): readonly Grant[] {
    return this.#identity.value?.grants ?? [];
  }

  #remove(token: string | null): void {
    for (const area of AREAS) {
      if (stored(area, STORED_AS) === token) store(area, STORED_AS, null);
    }
  }

  #leave(): void {
    for (const leave of this.#leaving) leave();
  }

  #clear(): void {
    this.#leave();
    this.#token.value = null;
    this.#identity.value = undefined;
  }
}

export const session = new Session();
