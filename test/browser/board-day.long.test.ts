/** A board that is left open for a day of alarms: it stays small, and says that there are more than it holds. */
import { z } from 'zod';
import { alarm, bedSensor, boardReady, each, expect, raise, test } from './browser.js';

const [ALARMS, DEVICES, BURST] = [20_000, 10, 100];
/** Measured: 4 MiB, mostly for the alarms held, whatever the number of alarms. */
const MAX_HEAP_GROWTH_BYTES = 7 * 1024 * 1024;

const heapUsage = z.object({ usedSize: z.number() });

test('stays small through a day of alarms that nobody resolves', { timeout: 180_000 }, async ({
  home,
  own,
  open,
}) => {
  const calm = await own.homeAt(home.gateway, 'Haus am Berg');
  const places = [home, calm].map(({ locationId }) => ({ location: locationId, role: 'viewer' }));
  const page = await open({ token: (await home.token(places)).token });
  await boardReady(page);
  const session = await page.context().newCDPSession(page);
  const heapBytes = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return heapUsage.parse(await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const before = await heapBytes();
  await each(
    Array.from({ length: DEVICES }, (_, index) => `Sensor ${index}`),
    async (name) => {
      const device = await home.device(name);
      const burst = Array.from({ length: BURST }, () => ({ kind: 'noise' }));
      for (let sent = 0; sent < ALARMS / DEVICES; sent += BURST)
        await raise(home, device, ...burst);
    },
  );
  await raise(home, await bedSensor(home), { kind: 'fall' });
  await raise(calm, await calm.device(), { kind: 'outOfBed' });
  await alarm(page, 'Fall, Room 12').waitFor();
  const rows = page.locator('.board-alarm');
  // One row a sensor, however many alarms it sends.
  await expect.poll(() => rows.count()).toBe(DEVICES + 2);
  await page.getByRole('heading', { name: /^Open alarms: 1\d\d\d\+$/ }).waitFor();
  await page.getByText('More in the history').waitFor();
  expect((await heapBytes()) - before).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
  // The board does not hold every alarm of the other home, nor count them as those of this one.
  await page.getByRole('combobox', { name: 'Home', exact: true }).selectOption('Haus am Berg');
  await page.getByRole('heading', { name: 'Open alarms: 1+' }).waitFor();
  expect(await rows.count()).toBe(1);
});
