import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** The roles of a grant, the least first. */
const ROLES = ['viewer', 'responder', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Grant {
  readonly location: string;
  readonly group?: string | undefined;
  readonly role: Role;
}

/** The token that is signed in, as `GET /access-tokens/current` shows it. */
export interface Identity {
  readonly id: string;
  readonly name: string;
  readonly grants: readonly Grant[];
}

const STORED_AS = 'care-home-gateway.token';

/**
 * The access token of this tab, and what it may do.
 *
 * It is kept for the tab, or for the device if wanted. What it may do decides what is shown; the gateway
 * decides again.
 */
export class Session {
  readonly #token = signal(sessionStorage.getItem(STORED_AS) ?? localStorage.getItem(STORED_AS));
  readonly #identity = signal<Identity | undefined>(undefined);
  /** Whether the gateway refused the token that was signed in: it is unknown, or has ended. */
  readonly #wasRefused = signal(false);

  readonly identity: ReadonlySignal<Identity | undefined> = this.#identity;
  readonly wasRefused: ReadonlySignal<boolean> = this.#wasRefused;
  readonly token: ReadonlySignal<string | null> = this.#token;
  readonly isAdmin = computed(() => this.#grants().some(({ role }) => role === 'admin'));

  constructor() {
    // Who signs out in one tab, and leaves, is not to stay signed in in another.
    addEventListener('storage', ({ key, oldValue, newValue }) => {
      const isGone = key === STORED_AS && newValue === null && oldValue === this.#token.peek();
      if (isGone && sessionStorage.getItem(STORED_AS) === null) this.signOut();
    });
  }

  /** Keeps a token; `identify` must follow. */
  signIn(token: string, isForDevice: boolean): void {
    this.#forget();
    (isForDevice ? localStorage : sessionStorage).setItem(STORED_AS, token);
    this.#wasRefused.value = false;
    this.#identity.value = undefined;
    this.#token.value = token;
  }

  identify(identity: Identity): void {
    this.#identity.value = identity;
  }

  signOut(): void {
    this.#forget();
    this.#token.value = null;
    this.#identity.value = undefined;
  }

  /** Signs out because the gateway no longer takes the token. */
  refused(): void {
    if (this.#token.value === null) return;
    this.signOut();
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
        ROLES.indexOf(grant.role) >= ROLES.indexOf(role) &&
        (locationId === undefined || grant.location === '*' || grant.location === locationId) &&
        (groupId === undefined || grant.group === undefined || grant.group === groupId),
    );
  }

  #grants(): readonly Grant[] {
    return this.#identity.value?.grants ?? [];
  }

  #forget(): void {
    sessionStorage.removeItem(STORED_AS);
    localStorage.removeItem(STORED_AS);
  }
}
