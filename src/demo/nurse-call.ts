import mqtt, { type MqttClient } from 'mqtt';
import { z } from 'zod';
import { ALARM_KINDS } from '../domain/alarms.js';
import { DemoError, within } from './demo-error.js';
import { parsedJson } from './json.js';
import type { InstalledHome } from './management.js';

const CONNECT_DEADLINE_MS = 10_000;
/** The client id of its persistent session. */
const CLIENT_ID = 'nurse-call-demo';

const messageSchema = z.object({
  /** Alarms only, like the kind. */
  id: z.string().optional(),
  kind: z.enum(ALARM_KINDS).optional(),
  device: z.object({ id: z.string(), name: z.string() }),
  customData: z.record(z.string(), z.unknown()),
});

/** A forwarded message. */
export type Forwarded = z.infer<typeof messageSchema> & { readonly topic: string };

/** The filter for everything forwarded of one location. */
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

  /** Connects and, without a session at the gateway, subscribes. */
  async connect(): Promise<void> {
    const { id, token } = this.#home.nurseCallToken;
    const client = mqtt.connect(this.#mqttUrl, {
      username: id,
      password: token,
      clientId: CLIENT_ID,
      clean: false,
    });
    this.#client = client;
    // mqtt.js reconnects by itself, and the ledger counts alarms that do not arrive.
    client.on('error', () => undefined);
    // Listening starts before the connection, as the backlog follows the CONNACK at once.
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

  /** Goes offline; missed messages wait in the session. */
  async disconnect(): Promise<void> {
    await this.#client?.endAsync();
    this.#client = undefined;
  }

  /** Ends for good, whatever the state of the connection. */
  async end(): Promise<void> {
    await this.#client?.endAsync(true);
  }
}
