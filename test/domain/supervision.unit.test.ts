import { expect, it } from 'vitest';
import type { NewEvent } from '../../src/delivery/log/log-item.js';
import { Health } from '../../src/site/health/health.js';
import { SiteModel } from '../../src/site/site-model.js';
import { Supervision } from '../../src/watch/supervision.js';

const DEVICE = {
  id: 'device',
  locationId: 'home',
  roomId: null,
  name: 'Bett 1',
  order: 2,
  createdAtMs: 0,
  secretHash: '',
  customData: '{}',
  limits: {},
};

/** A home with a device that a supervision looks at; events are stored when the test says so. */
class World {
  readonly model = new SiteModel();
  readonly events: NewEvent[] = [];
  readonly #stored: ((isStored: boolean) => void)[] = [];
  seen = { silentMs: 0, lastSeenAtMs: 0 };
  readonly supervision: Supervision;

  constructor() {
    const location = { id: 'home', name: 'Haus', order: 1 };
    this.model.apply([{ kind: 'location', before: undefined, after: location }]);
    this.model.apply([{ kind: 'device', before: undefined, after: DEVICE }]);
    this.supervision = new Supervision({
      model: this.model,
      hearing: {
        silentMs: () => this.seen.silentMs,
        of: () => this.seen,
        fellSilent: () => undefined,
      },
      alarms: {
        append: (item, onDone) => {
          if ('event' in item) this.events.push(item);
          this.#stored.push(onDone);
        },
      },
      store: { silent: () => Promise.resolve([]) },
      health: new Health(),
      silentAfterSeconds: 60,
      now: () => 1_000_000,
      steadyNow: () => 1_000_000,
    });
  }

  check(silentMs: number, lastSeenAtMs: number): void {
    this.seen = { silentMs, lastSeenAtMs };
    this.supervision.check();
  }

  store(): void {
    for (const onDone of this.#stored.splice(0)) onDone(true);
  }
}

it('a silent device is not heard because its time became longer and a clock rounds differently', () => {
  const world = new World();
  world.check(61_000, 500_000);
  world.store();
  const after = { ...DEVICE, silentAfterSeconds: 900 };
  world.model.apply([{ kind: 'device', before: DEVICE, after }]);
  world.check(62_000, 500_001);
  expect(world.events).toHaveLength(1);
  world.check(0, 562_000);
  expect(world.events).toHaveLength(2);
});

it('a device that is deleted while its event is being stored is not silent', () => {
  const world = new World();
  world.check(61_000, 500_000);
  world.model.apply([{ kind: 'device', before: DEVICE, after: undefined }]);
  world.supervision.removed(DEVICE.id);
  world.store();
  expect(world.supervision.list()).toEqual([]);
});
