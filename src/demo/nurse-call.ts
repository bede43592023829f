import mqtt, { type MqttClient } from 'mqtt';
import { z } from 'zod';
import { ALARM_KINDS } from '../domain/alarms.js';
import { DemoError, within } from './demo-error.js';
import { parsedJson } from './json.js';
import type { InstalledHome } from './management.js';

const CONNECT_DEADLINE_MS = 10_000;
/** Its persistent session is known by this name. */
const CLIENT_ID = 'nurse-call-demo';

const messageSchema = z.object({
  /** Of an alarm, like its kind. */
  id: z.string().optional(),
  kind: z.enum(ALARM_KINDS).optional(),
  device: z.object({ id: z.string(), name: z.string() }),
  customData: z.record(z.string(), z.unknown()),
});

/** A message as the gateway forwarded it. */
export type Forwarded = z.infer<typeof messageSchema> & { readonly topic: string };

/** Everything the gateway forwards of one location. */
export function locationFilter(home: InstalledHome): string {
  return `care-homes/${home.locationId}/#`;
}

/** The nurse-call system: one subscriber with a persistent session. */
export class NurseCall {
  readonly #mqttUrl: string;
  readonly #home: InstalledHome;
  readonly #onMessage: (message: Forwarded) => void;
  #client: MqttClient | undefined;

  constructor(mqttUrl: string, home: InstalledHome, onMessage: (message: Forwarded) => void) {
    this.#mqttUrl = mqttUrl;
    this.#home = home;
    this.#onMessage = onMessage;
  }

  get isOnline(): boolean {
    return this.#client !== undefined;
  }

  /** Connects and, where the gateway has no session of its, subscribes. */
  async connect(): Promise<void> {
    const { id, token } = this.#home.nurseCallToken;
    const client = mqtt.connect(this.#mqttUrl, {
      username: id,
      password: token,
      clientId: CLIENT_ID,
      clean: false,
    });
    this.#client = client;
    // mqtt.js connects anew by itself; whether an alarm arrived is counted elsewhere.
    client.on('error', () => undefined);
    // Listens before it is connected: what was queued follows the CONNACK at once.
    client.on('message', (topic, payload) => {
      const message = messageSchema.safeParse(parsedJson(payload.toString()));
      if (message.success) this.#onMessage({ ...message.data, topic });
    });
    const connected = new Promise<boolean>((resolve) => {
      client.once('connect', ({ sessionPresent }) => resolve(sessionPresent));
    });
    const hasSession = await within(
      connected,
      CONNECT_DEADLINE_MS,
      'the nurse-call system could not connect',
    );
    if (hasSession) return;
    const [granted] = await client.subscribeAsync(locationFilter(this.#home), { qos: 1 });
    if (granted?.qos !== 1) throw new DemoError('the subscription was refused');
  }

  /** Goes offline; what it misses waits for it in its session. */
  async disconnect(): Promise<void> {
    await this.#client?.endAsync();
    this.#client = undefined;
  }

  /** Ends for good, whatever state the connection is in. */
  async end(): Promise<void> {
    await this.#client?.endAsync(true);
  }
}
