import { z } from 'zod';
import { Api, type TestDevice, type TestToken } from './clients/api.js';
import { connectDevice, Subscriber } from './clients/mqtt-clients.js';
import type { GatewayHere } from './gateway/gateway-here.js';
import { GatewayProcess } from './gateway/gateway-process.js';
import type { Environment, RunningGateway } from './gateway/running-gateway.js';

const createdSchema = z.object({ id: z.string() });

/** A gateway with one care home in it. */
export class Home<Gateway extends RunningGateway = RunningGateway> {
  readonly gateway: Gateway;
  readonly api: Api;
  readonly locationId: string;
  readonly viewer: TestToken;
  readonly manager: TestToken;

  private constructor(
    gateway: Gateway,
    api: Api,
    locationId: string,
    viewer: TestToken,
    manager: TestToken,
  ) {
    this.gateway = gateway;
    this.api = api;
    this.locationId = locationId;
    this.viewer = viewer;
    this.manager = manager;
  }

  static async start(environment?: Environment): Promise<Home<GatewayHere>> {
    // Only where needed: its sources take seconds to load.
    const here = await import('./gateway/gateway-here.js');
    return Home.at(await here.GatewayHere.start(environment));
  }

  /** Creates a home in a gateway with its own process, which can be killed. */
  static async startProcess(environment?: Environment): Promise<Home<GatewayProcess>> {
    return Home.at(await GatewayProcess.start(environment));
  }

  /** Creates a home in a running gateway. */
  static async at<Gateway extends RunningGateway>(
    gateway: Gateway,
    name?: string,
  ): Promise<Home<Gateway>> {
    const api = new Api(gateway);
    const { id } = await api.createLocation(name);
    const viewer = await api.viewer(id);
    const manager = await api.createToken([{ location: id, role: 'manager' }]);
    return new Home(gateway, api, id, viewer, manager);
  }

  remove(): Promise<void> {
    return this.gateway.remove();
  }

  device(name?: string): Promise<TestDevice> {
    return this.api.createDevice(this.locationId, name);
  }

  /** The HTTP path of the home. */
  get path(): string {
    return `/care-homes/${this.locationId}`;
  }

  /** Creates a group of rooms; returns its id. */
  group(name: string): Promise<string> {
    return this.#create('groups', { name });
  }

  /** Creates a room; returns its id. */
  room(name: string, groupId?: string): Promise<string> {
    return this.#create('rooms', { name, groupId });
  }

  /** Creates a device in the room. */
  async deviceIn(targetRoomId: string, name?: string): Promise<TestDevice> {
    const device = await this.device(name);
    await this.api.json('POST', `${this.path}/devices/${device.id}/move`, { targetRoomId });
    return device;
  }

  /** The filter for a device's forwarded messages, or for those with the given rest. */
  filter(device: TestDevice, rest = '#'): string {
    return `care-homes/${this.locationId}/devices/${device.id}/${rest}`;
  }

  /** A nurse-call system that sees what the device sends, but not its status. */
  async nurse(device: TestDevice, ...rests: string[]): Promise<Subscriber> {
    const nurse = await Subscriber.connect(this.gateway, this.viewer);
    return nurse.subscribe(...rests.map((rest) => this.filter(device, rest)));
  }

  /** Creates a nurse-call system that is away; the gateway keeps everything that devices send for it. */
  async absent(clientId: string): Promise<void> {
    const absent = await Subscriber.connect(this.gateway, this.viewer, { clientId, clean: false });
    await absent.subscribe(`care-homes/${this.locationId}/#`);
    await absent.end();
  }

  /** Publishes one more message of the device, after all accepted before. */
  publishLast(device: TestDevice, rest: string, payload: string): Promise<void> {
    return this.publish(device, rest, [payload]);
  }

  /** Publishes messages of the device together, over one connection; resolves once the gateway has them. */
  async publish(device: TestDevice, rest: string, payloads: readonly string[]): Promise<void> {
    const sensor = await connectDevice(this.gateway, device);
    const topic = `devices/${device.id}/${rest}`;
    await Promise.all(payloads.map((payload) => sensor.publishAsync(topic, payload, { qos: 1 })));
    await sensor.endAsync();
  }

  async #create(kind: string, body: object): Promise<string> {
    return createdSchema.parse(await this.api.json('POST', `${this.path}/${kind}`, body)).id;
  }
}
