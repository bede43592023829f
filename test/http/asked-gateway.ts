import { randomUUID } from 'node:crypto';
import { parseAlarm } from '../../src/domain/alarm-payload.js';
import type { Grant } from '../../src/domain/grants.js';
import { connectDevice } from '../former/clients/mqtt-clients.js';
import type { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { describedAt } from '../harness/described/described-origins.js';
import { faultTextsIn } from '../harness/described/fault-texts.js';
import {
  type Camera,
  cameraBody,
  homeList,
  idBody,
  secretBody,
  tokenBody,
} from './answer-bodies.js';
import { type Answer, type CallOptions, call } from './client.js';

/** How tests talk to a gateway, over HTTP and as its devices. */
export class AskedGateway {
  readonly running: GatewayHere;
  /** The secrets by device, as the gateway showed them. */
  readonly #secrets = new Map<string, string>();

  protected constructor(running: GatewayHere) {
    this.running = running;
  }

  get port(): number {
    return this.running.addresses.http.port;
  }

  /** Sends a request; fails when the answer does not match the OpenAPI document. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answered = await call(this.port, method, path, options);
    const { status, headers, text } = answered;
    const { json, body, headers: sent = {} } = options;
    const mediaType = sent['Content-Type'] ?? (json === undefined ? undefined : 'application/json');
    const request = {
      mediaType,
      text: json === undefined ? body?.toString() : JSON.stringify(json),
    };
    const described = await describedAt(this.running.httpUrl);
    if (described === undefined) throw new Error('The gateway has no description');
    described.check({ method, path, request, status, headers, text });
    if (method === 'POST' && status < 300 && text.includes('"secret":'))
      this.#remember(path, answered);
    return answered;
  }

  /** Sends a request as the administrator. */
  admin(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call(method, path, { token: ADMIN_TOKEN, ...options });
  }

  async createLocation(name = 'Haus Birke'): Promise<string> {
    const created = await this.admin('POST', '/care-homes', { json: { name } });
    return idBody.parse(created.json).id;
  }

  async createDevice(locationId: string, name = 'Bett 1'): Promise<string> {
    return (await this.createCamera(locationId, name)).id;
  }

  /** Creates a device; returns it with its secret. */
  async createCamera(locationId: string, name = 'Kamera 1'): Promise<Camera> {
    const path = `/care-homes/${locationId}/devices`;
    return cameraBody.parse((await this.admin('POST', path, { json: { name } })).json);
  }

  async createToken(grants: readonly Grant[], name = 'a token'): Promise<string> {
    return (await this.issueToken(grants, name)).token;
  }

  /** Creates an access token; returns its id as well. */
  async issueToken(grants: readonly Grant[], name = 'a token') {
    const created = await this.admin('POST', '/access-tokens', { json: { name, grants } });
    return tokenBody.parse(created.json);
  }

  /** The location that has the device. */
  async locationOf(deviceId: string): Promise<string> {
    const homes = homeList.parse((await this.admin('GET', '/care-homes')).json);
    return homes.find(({ devices }) => devices.includes(deviceId))?.id ?? '';
  }

  /** The faults that it reports. */
  async faults(): Promise<readonly string[]> {
    return faultTextsIn((await this.admin('GET', '/readyz')).json);
  }

  async createGroup(locationId: string, name = 'Station 1'): Promise<string> {
    const path = `/care-homes/${locationId}/groups`;
    return idBody.parse((await this.admin('POST', path, { json: { name } })).json).id;
  }

  async createRoom(locationId: string, groupId: string | null = null): Promise<string> {
    const path = `/care-homes/${locationId}/rooms`;
    const json = { name: 'Zimmer 1', groupId };
    return idBody.parse((await this.admin('POST', path, { json })).json).id;
  }

  /** Moves a device as the administrator. */
  moveDevice(locationId: string, deviceId: string, target: object): Promise<Answer> {
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    return this.admin('POST', path, { json: target });
  }

  /** Moves the device into a new room of a new group. */
  async placeInGroup(
    locationId: string,
    deviceId: string,
  ): Promise<{ groupId: string; roomId: string }> {
    const groupId = await this.createGroup(locationId);
    const roomId = await this.createRoom(locationId, groupId);
    const moved = await this.moveDevice(locationId, deviceId, { targetRoomId: roomId });
    if (moved.status !== 204) throw new Error(`Not moved: ${moved.text}`);
    return { groupId, roomId };
  }

  /** Connects as a device created here. */
  connectDevice(deviceId: string) {
    const secret = this.#secrets.get(deviceId) ?? '';
    return connectDevice(this.running, { id: deviceId, locationId: '', name: '', secret });
  }

  /** Publishes as the device; resolves when the gateway has acknowledged everything. */
  async publish(deviceId: string, level: string, payloads: readonly (string | Buffer)[]) {
    const client = await this.connectDevice(deviceId);
    const topic = `devices/${deviceId}/${level}`;
    await Promise.all(payloads.map((payload) => client.publishAsync(topic, payload, { qos: 1 })));
    await client.endAsync();
  }

  /** Makes the device raise an alarm in its current place; returns the alarm's id. */
  async recordAlarm(
    deviceId: string,
    alarm: string | Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const [id = ''] = await this.recordAlarms(deviceId, [alarm]);
    return id;
  }

  /** The same for several alarms over one connection. */
  async recordAlarms(
    deviceId: string,
    alarms: readonly (string | Readonly<Record<string, unknown>>)[],
  ): Promise<string[]> {
    const texts = alarms.map((alarm) =>
      typeof alarm === 'string' ? alarm : JSON.stringify({ id: randomUUID(), ...alarm }),
    );
    const ids = texts.map((text) => {
      const result = parseAlarm(Buffer.from(text), {
        deviceId,
        kind: undefined,
        receivedAtMs: Date.now(),
      });
      // An invalid publish is acknowledged as well.
      if ('reason' in result || !result.alarm.idIsStable) throw new Error(`No such alarm: ${text}`);
      return result.alarm.id;
    });
    await this.publish(deviceId, 'alarms', texts);
    return ids;
  }

  #remember(path: string, { json }: Answer): void {
    const { id, secret } = secretBody.parse(json);
    // The answer with a new secret does not name the device.
    const deviceId = id ?? path.split('/').at(-2);
    if (deviceId !== undefined) this.#secrets.set(deviceId.toLowerCase(), secret);
  }
}
