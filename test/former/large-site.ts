import { z } from 'zod';
import { Load } from '../harness/load/load.js';
import { type Login, loginSchema, type Plan } from '../harness/load/plan.js';
import { each, times } from './at-a-time.js';
import { Api } from './clients/api.js';
import { loginOf } from './clients/raw-client.js';
import type { GatewayProcess } from './gateway/gateway-process.js';

/** Devices that send the waiting messages. */
const SENDERS = 40;
const WINDOW = 20;
const DEVICES_PER_HOME = 100;
const SESSIONS_PER_TOKEN = 10;
/** First numbers of the loads that send queued alarms, telemetry, and later messages (`load/plan.ts`). */
const [FIRST_QUEUED_NUMBER, FIRST_VALUE_NUMBER] = [10, 50];
/** The same as for telemetry, because no session receives both. */
const FIRST_ALARM_NUMBER = FIRST_VALUE_NUMBER;
export const FIRST_LATER_NUMBER = 90;

export interface SiteSize {
  readonly alarms: number;
  /** How many of the newest alarms wait for each session. */
  readonly queued: number;
  readonly devices: number;
  readonly sessions: number;
  /** Telemetry messages for each session. */
  readonly values: number;
}

const siteSchema = z.object({
  port: z.number(),
  /** The filter of every session: everything that the senders send. */
  filter: z.string(),
  senders: z.array(loginSchema),
  /** Sessions, each with the credentials of its token. */
  sessions: z.array(loginSchema),
});
type Site = z.infer<typeof siteSchema>;

/** A large site, created over HTTP and MQTT. */
export class LargeSite {
  readonly #site: Site;

  private constructor(site: Site) {
    this.#site = site;
  }

  static async make(gateway: GatewayProcess, size: SiteSize): Promise<LargeSite> {
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation();
    const devices = await times(SENDERS, () => api.createDevice(locationId));
    await makeQuietHomes(api, size.devices - SENDERS);
    const tokens = await times(Math.ceil(size.sessions / SESSIONS_PER_TOKEN), () =>
      api.viewer(locationId),
    );
    const site = new LargeSite({
      port: gateway.mqttPort,
      filter: `care-homes/${locationId}/devices/+/#`,
      senders: devices.map((device) => loginOf(device, device.id)),
      sessions: Array.from({ length: size.sessions }, (_, index) => index).flatMap((index) => {
        const token = tokens[Math.floor(index / SESSIONS_PER_TOKEN)];
        return token === undefined ? [] : [loginOf(token, `absent-${index}`)];
      }),
    });
    await site.#send('alarms', FIRST_ALARM_NUMBER, size.alarms - size.queued);
    await each(site.#site.sessions, async (session) => (await site.takeUp(session)).end());
    await site.#send('alarms', FIRST_QUEUED_NUMBER, size.queued);
    await site.#send('telemetry', FIRST_VALUE_NUMBER, size.values);
    return site;
  }

  /** Restores a site from `text`, on a gateway with the same ports. */
  static from(text: string): LargeSite {
    return new LargeSite(siteSchema.parse(JSON.parse(text)));
  }

  get text(): string {
    return JSON.stringify(this.#site);
  }

  get sessions(): readonly Login[] {
    return this.#site.sessions;
  }

  /** Opens a load of one reader, which resumes an absent session. */
  takeUp(session: Login): Promise<Load> {
    const { port, filter } = this.#site;
    const readers = [{ ...session, isClean: false }];
    const nothing = { kind: 'alarms', qos: 1, firstNumber: 0 } as const;
    return Load.open({ ...nothing, port, filter, devices: [], readers });
  }

  /** Opens a load of one device and a live reader of its alarms. */
  live(firstNumber: number): Promise<Load> {
    const { port, filter, senders, sessions } = this.#site;
    const readers = sessions.slice(0, 1).map((session) => ({
      ...session,
      clientId: `live-${firstNumber}`,
      isClean: true,
    }));
    const devices = senders.slice(0, 1);
    return Load.open({ kind: 'alarms', qos: 1, firstNumber, port, filter, devices, readers });
  }

  /** Resolves when everything is acknowledged. */
  async #send(kind: Plan['kind'], firstNumber: number, count: number): Promise<void> {
    const { port, senders: devices } = this.#site;
    const nobody = { readers: [], filter: '' };
    if (count === 0) return;
    const load = await Load.open({ port, kind, qos: 1, firstNumber, devices, ...nobody });
    const maxEach = Math.ceil(count / devices.length);
    const unbounded = { perSecond: null, durationMs: null };
    await load.offer({ ...unbounded, window: WINDOW, underWayTo: 'acknowledgement', maxEach });
    await load.acknowledged();
    await load.end();
  }
}

/** Creates idle homes, just to have their devices. */
async function makeQuietHomes(api: Api, devices: number): Promise<void> {
  for (let left = devices; left > 0; left -= DEVICES_PER_HOME) {
    const { id } = await api.createLocation();
    await times(Math.min(left, DEVICES_PER_HOME), () => api.createDevice(id));
  }
}
