import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../former/eventually.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { ENDINGS } from '../../former/gateway/start-times.js';
import { FIRST_LATER_NUMBER, LargeSite } from '../../former/large-site.js';

/** Every session's backlog holds all of it: telemetry is bounded by 10,000 messages, statuses included. */
const SIZE = { alarms: 10_000, queued: 10_000, devices: 500, sessions: 20, values: 9_000 };

let gateway: GatewayProcess;
let site: LargeSite;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
  site = await LargeSite.make(gateway, SIZE);
}, 180_000);

afterAll(async () => {
  await gateway.remove();
});

/** `npm run bench -- start` has the other `ENDINGS`. */
const ENDING = 'SIGKILL of the gateway and the store';

it('is ready, forwards, and keeps an absent session’s whole backlog, after a kill with 10,000 alarms, 500 devices and 20 absent sessions', async () => {
  await ENDINGS.get(ENDING)?.(gateway);
  await gateway.start();

  const live = await site.live(FIRST_LATER_NUMBER);
  const once = { window: 1, underWayTo: 'acknowledgement', maxEach: 1 } as const;
  await live.offer({ ...once, perSecond: null, durationMs: null });
  await eventually(() => expect(live.report().readers[0]).toMatchObject({ isLevel: true }));

  const [session] = site.sessions;
  if (session === undefined) throw new Error('there is no absent session');
  const reader = await site.takeUp(session);
  const queued = SIZE.alarms + SIZE.values + 1;
  await eventually(() =>
    expect(reader.report().readers[0]).toMatchObject({
      received: queued,
      missing: 0,
      outOfOrder: 0,
      wasClosed: false,
    }),
  );
  await Promise.all([live.end(), reader.end()]);
});
