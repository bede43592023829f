import type { Api, TestDevice, TestToken } from '../former/clients/api.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import { RawClient } from '../former/clients/raw-client.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { Mosquitto } from '../former/servers/mosquitto.js';

export const BRIDGE = 'head-office';
export const AWAY = 'nurse-call-at-night';
export const HERE = 'nurse-call-here';

/** A gateway with something to show in each part of its page. */
export class GatewayHome {
  readonly #home: Home<GatewayHere>;
  readonly mosquitto: Mosquitto;
  readonly device: TestDevice;
  readonly #here: Subscriber;

  private constructor(
    home: Home<GatewayHere>,
    mosquitto: Mosquitto,
    device: TestDevice,
    here: Subscriber,
  ) {
    this.#home = home;
    this.mosquitto = mosquitto;
    this.device = device;
    this.#here = here;
  }

  /** Starts it with a connected bridge, an absent session with an alarm, a connected one, and a wrong password. */
  static async start(): Promise<GatewayHome> {
    const mosquitto = await Mosquitto.start();
    const gateway = await GatewayHere.create();
    await gateway.configure({ bridges: [{ name: BRIDGE, url: mosquitto.url }] });
    await gateway.start();
    const home = await Home.at(gateway);
    const device = await home.device();
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const nurseCall = await home.api.createToken(grants, 'Rufanlage');
    const away = await persistent(gateway, nurseCall, AWAY);
    await away.end();
    const here = await persistent(gateway, nurseCall, HERE);
    // Before the good alarm, which ends the fault of a device that the gateway cannot read.
    await home.publishLast(device, 'alarms', '{"kind":"fell"}');
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    await here.until((all) => all.some(({ topic }) => topic.endsWith('/alarms/fall')));
    const guesser = { id: device.id, secret: 'not-the-secret' };
    await RawClient.connect(gateway, { ...device, ...guesser }).catch(() => undefined);
    return new GatewayHome(home, mosquitto, device, here);
  }

  get gateway(): GatewayHere {
    return this.#home.gateway;
  }

  get api(): Api {
    return this.#home.api;
  }

  get locationId(): string {
    return this.#home.locationId;
  }

  get viewer(): TestToken {
    return this.#home.viewer;
  }

  async remove(): Promise<void> {
    await this.#here.end();
    await this.#home.remove();
    await this.mosquitto.remove();
  }
}

async function persistent(
  gateway: GatewayHere,
  token: TestToken,
  clientId: string,
): Promise<Subscriber> {
  const nurse = await Subscriber.connect(gateway, token, { clientId, clean: false });
  return nurse.subscribe('care-homes/+/devices/+/alarms/#');
}
