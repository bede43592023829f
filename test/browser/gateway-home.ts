import { Api, type TestDevice, type TestToken } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Mosquitto } from '../harness/mosquitto.js';
import { connectDevice, Subscriber } from '../harness/mqtt-clients.js';
import { RawClient } from '../harness/raw-client.js';

export const BRIDGE = 'head-office';
export const AWAY = 'nurse-call-at-night';
export const HERE = 'nurse-call-here';

/** A gateway with something to show on each part of its page. */
export class GatewayHome {
  readonly gateway: GatewayProcess;
  readonly mosquitto: Mosquitto;
  readonly api: Api;
  readonly locationId: string;
  readonly device: TestDevice;
  readonly viewer: TestToken;
  readonly #here: Subscriber;

  private constructor(
    parts: Pick<GatewayHome, 'gateway' | 'mosquitto' | 'api' | 'locationId' | 'device' | 'viewer'>,
    here: Subscriber,
  ) {
    this.gateway = parts.gateway;
    this.mosquitto = parts.mosquitto;
    this.api = parts.api;
    this.locationId = parts.locationId;
    this.device = parts.device;
    this.viewer = parts.viewer;
    this.#here = here;
  }

  /** A bridge that is up, a session that is away with an alarm, one that is connected, and a wrong password. */
  static async start(): Promise<GatewayHome> {
    const mosquitto = await Mosquitto.start();
    const gateway = await GatewayProcess.create();
    await gateway.configure({ bridges: [{ name: BRIDGE, url: mosquitto.url }] });
    await gateway.start();
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation();
    const device = await api.createDevice(locationId);
    const viewer = await api.createToken([{ location: locationId, role: 'viewer' }], 'Rufanlage');
    const away = await persistent(gateway, viewer, AWAY);
    await away.end();
    const here = await persistent(gateway, viewer, HERE);
    const home = new GatewayHome({ gateway, mosquitto, api, locationId, device, viewer }, here);
    await home.publish('alarms', '{"kind":"fall"}');
    await here.until((all) => all.some(({ topic }) => topic.endsWith('/alarms/fall')));
    await home.publish('alarms', '{"kind":"fell"}');
    const guesser = { id: device.id, secret: 'not-the-secret' };
    await RawClient.connect(gateway, { ...device, ...guesser }).catch(() => undefined);
    return home;
  }

  async publish(rest: string, payload: string): Promise<void> {
    const client = await connectDevice(this.gateway, this.device);
    await client.publishAsync(`devices/${this.device.id}/${rest}`, payload, { qos: 1 });
    await client.endAsync();
  }

  async remove(): Promise<void> {
    await this.#here.end();
    await this.gateway.remove();
    await this.mosquitto.remove();
  }
}

async function persistent(
  gateway: GatewayProcess,
  token: TestToken,
  clientId: string,
): Promise<Subscriber> {
  const nurse = await Subscriber.connect(gateway, token, { clientId, clean: false });
  return nurse.subscribe('care-homes/+/devices/+/alarms/#');
}
