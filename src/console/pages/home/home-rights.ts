import type { Device, Group, Room } from '../../api.js';
import type { session } from '../../session.js';
import type { Home } from './home-data.js';
import { sorted } from './home-tree.js';

/** What the token may change in one home; the gateway decides again. */
export class HomeRights {
  readonly #session: typeof session;
  readonly #home: Home;
  readonly #groupByRoom: ReadonlyMap<string, string | null>;

  constructor(token: typeof session, home: Home) {
    this.#session = token;
    this.#home = home;
    this.#groupByRoom = new Map(home.rooms.map(({ id, groupId }) => [id, groupId]));
  }

  /** Whether it may rename the home and create groups and devices. */
  get mayManageHome(): boolean {
    return this.mayManageGroup(null);
  }

  get mayRemoveHome(): boolean {
    return this.#session.isAdmin.value;
  }

  /** Whether it may manage the group and what is in it; with null, what is in no group. */
  mayManageGroup(groupId: string | null): boolean {
    return this.#session.may('manager', this.#home.location.id, groupId);
  }

  mayManageRoom({ groupId }: Room): boolean {
    return this.mayManageGroup(groupId);
  }

  mayManageDevice({ roomId }: Device): boolean {
    return this.mayManageGroup(roomId === null ? null : (this.#groupByRoom.get(roomId) ?? null));
  }

  /** The groups in which rooms may be created, or to which they may be moved. */
  targetGroups(): readonly Group[] {
    return sorted(this.#home.groups.filter(({ id }) => this.mayManageGroup(id)));
  }

  /** The rooms to which devices may be moved. */
  targetRooms(): readonly Room[] {
    return sorted(this.#home.rooms.filter((room) => this.mayManageRoom(room)));
  }
}
