import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

const DENIED = 0x80;
/** The default of the configuration or the broker (contract.md, 5). */
const MAX_FILTERS = 1000;

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

describe('many filters', () => {
  const filters = (count: number) =>
    Array.from({ length: count }, (_, index) => home.filter(device, `f/${index}`));

  it('fault 6: of one SUBSCRIBE are stored with one write', async () => {
    const store = await Store.of(home.gateway);
    const session = { clientId: 'thousand', clean: false };
    const nurse = await RawClient.connect(home.gateway, home.viewer, session);
    await store.redis.config('RESETSTAT');
    expect(await nurse.subscribe(filters(MAX_FILTERS))).toEqual(filters(MAX_FILTERS).map(() => 1));
    // One write for the session; a few for cursors and presence may happen at the same time.
    expect(await store.calls('hset')).toBeLessThan(20);
    nurse.vanish();
    const again = await RawClient.connect(home.gateway, home.viewer, session);
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.publish(`devices/${device.id}/f/${MAX_FILTERS - 1}`, '1', 1);
    expect((await again.next('publish')).topic).toBe(filters(MAX_FILTERS).at(-1));
    for (const client of [again, sensor]) client.vanish();
    store.close();
  });

  it.each([true, false])('fault 16: are bounded per client (clean: %s)', async (clean) => {
    const clientId = `bounded-${clean}`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId, clean });
    await nurse.subscribe(filters(MAX_FILTERS));
    const [known = ''] = filters(1);
    expect(await nurse.subscribe([home.filter(device, 'one/more'), known])).toEqual([DENIED, 1]);
    nurse.vanish();
  });

  it('count once for a client that repeats those of its session, plus one more', async () => {
    const session = { clientId: 'asks-again', clean: false };
    const before = await RawClient.connect(home.gateway, home.viewer, session);
    await before.subscribe(filters(MAX_FILTERS / 2));
    before.vanish();
    const after = await RawClient.connect(home.gateway, home.viewer, session);
    const more = filters(MAX_FILTERS / 2 + 1);
    expect(await after.subscribe(more)).toEqual(more.map(() => 1));
    after.vanish();
  });

  it('fault 16: are bounded per SUBSCRIBE and UNSUBSCRIBE', async () => {
    const subscriptions = filters(MAX_FILTERS + 1).map((topic) => ({ topic, qos: 1 as const }));
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    nurse.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    await nurse.closed();
    const other = await RawClient.connect(home.gateway, home.viewer);
    other.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: filters(MAX_FILTERS + 1) });
    await other.closed();
  });
});

describe('an ill-formed filter', () => {
  it.each(['', 'a#', 'a/#/b', 'a+', 'a\u0000'])('"%s" closes the connection', async (rest) => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    const filter = rest === '' ? '' : `care-homes/${home.locationId}/${rest}`;
    const length = Buffer.from([0, Buffer.byteLength(filter)]);
    const body = Buffer.concat([
      Buffer.from([0, 1]),
      length,
      Buffer.from(filter),
      Buffer.from([1]),
    ]);
    nurse.stream.write(Buffer.concat([Buffer.from([0x82, body.length]), body]));
    await nurse.closed();
    expect(nurse.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
  });
});
