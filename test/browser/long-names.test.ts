import { afterAll, beforeAll, expect, it } from 'vitest';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { publishAlarm } from './board/board-ward.js';
import { openConsole } from './browser.js';

const LONG = 'Mehrzweckpflegestation'.repeat(6).slice(0, 120);

let gateway: GatewayHere;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

it.each([360, 1280])(
  'wraps names without spaces on every page, %i pixels wide',
  async (widthPx) => {
    const home = await Home.at(gateway, LONG);
    const device = await home.deviceIn(await home.room(LONG, await home.group(LONG)), LONG);
    await home.api.setCustomData(device, JSON.stringify({ [LONG]: LONG }));
    const { token } = await home.api.createToken([{ location: '*', role: 'admin' }], LONG);
    const alarmId = crypto.randomUUID();
    await publishAlarm(gateway, device, { id: alarmId, kind: 'fall' });
    await home.api.json('POST', `${home.path}/alarms/${alarmId}/acknowledge`, { note: LONG });
    const places = [
      '/',
      '/?kiosk',
      `/history?location=${home.locationId}`,
      '/home',
      `/home/${home.locationId}`,
      `/home/${home.locationId}/devices/${device.id}`,
      '/gateway/audit',
      '/gateway/tokens',
      '/gateway/connections',
    ];
    const wide: string[] = [];
    for (const path of places) {
      const { page } = await openConsole(gateway, { token, path, widthPx });
      await page.getByText(LONG).first().waitFor({ state: 'attached' });
      const overflowPx = await page.evaluate(
        () => document.documentElement.scrollWidth - window.innerWidth,
      );
      if (overflowPx > 0) wide.push(`${path} by ${overflowPx}`);
    }
    expect(wide).toEqual([]);
  },
);
