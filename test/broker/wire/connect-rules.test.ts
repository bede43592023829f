import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TestDevice } from '../../former/clients/api.js';
import { credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import {
  CLEAN,
  type Connect,
  connectOf,
  endedBy,
  gone,
  PASSWORD,
  publish,
  subscribe,
  text,
  USER_NAME,
  WILL,
} from './raw-packets.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  device = await home.device();
});

afterAll(() => home.remove());
const WILL_QOS_3 = 0x18;

const connect = (options?: Connect) => connectOf(device, options);

const own = (...rest: (string | readonly number[])[]) => text(`devices/${device.id}/`, ...rest);
const commands = (...rest: (string | readonly number[])[]) => own('commands/', ...rest);

describe('the protocol level of a CONNECT [MQTT-3.1.2-2]', () => {
  it.each([
    ['MQTT', 0],
    ['MQTT', 1],
    ['MQTT', 2],
    ['MQTT', 3],
    ['MQTT', 6],
    ['MQTT', 9],
    ['MQTT', 127],
    ['MQIsdp', 4],
  ])('of %s %i is answered with 1', async (protocol, level) => {
    const from = home.gateway.lines.length;
    const client = await RawClient.open(home.gateway);
    // CONNECT, and what a client may send without waiting for CONNACK.
    const bytes = Buffer.concat([connect({ protocol, level }), publish(0x32, own('x'), 1)]);
    expect(await endedBy(client, bytes)).toEqual([['connack', 1]]);
    const reason = 'unacceptable protocol version';
    await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
  });

  it('3 is MQTT 3.1, and accepted', async () => {
    const client = await RawClient.open(home.gateway);
    client.stream.write(connect({ protocol: 'MQIsdp', level: 3 }));
    expect((await client.next('connack')).returnCode).toBe(0);
    await client.ping();
    client.vanish();
  });

  it('of another protocol gets no answer', async () => {
    const client = await RawClient.open(home.gateway);
    expect(await endedBy(client, connect({ protocol: 'HTTP', level: 9 }))).toEqual([]);
  });
});

describe('an overlong client id [MQTT-3.1.3-9]', () => {
  const clientId = text('ü'.repeat(128), 'x');

  it('is answered with 2', async () => {
    const from = home.gateway.lines.length;
    const client = await RawClient.open(home.gateway);
    const bytes = Buffer.concat([connect({ clientId }), subscribe(1, commands('#'))]);
    expect(await endedBy(client, bytes)).toEqual([['connack', 2]]);
    await home.gateway.logged('"reason":"client id too long","msg":"connect error"', from);
  });

  it('is answered over WebSocket', async () => {
    const socket = new WebSocket(`${home.gateway.httpUrl.replace('http', 'ws')}/mqtt`, ['mqtt']);
    const client = new RawClient(createWebSocketStream(socket));
    await once(socket, 'open');
    expect(await endedBy(client, connect({ clientId }))).toEqual([['connack', 2]]);
  });

  it('is not answered when the packet has another fault', async () => {
    const client = await RawClient.open(home.gateway);
    const will = [own('x'), text([...gone])];
    const flags = USER_NAME | PASSWORD | CLEAN | WILL | WILL_QOS_3;
    expect(await endedBy(client, connect({ clientId, will, flags }))).toEqual([]);
  });
});

describe('a second CONNECT gets no answer [MQTT-3.1.0-2]', () => {
  it.each([
    ['of an unknown level', () => connect({ level: 9 })],
    ['with a client id that is too long', () => connect({ clientId: text('x'.repeat(257)) })],
  ])('%s', async (_what, packetOf) => {
    const client = await RawClient.connect(home.gateway, device);
    expect(await endedBy(client, packetOf())).toEqual([['connack', 0]]);
    const hasty = await RawClient.open(home.gateway);
    // Both CONNECTs are sent before the answer to the first.
    expect(await endedBy(hasty, Buffer.concat([connect(), packetOf()]))).toEqual([['connack', 0]]);
  });
});

describe('the flags of a CONNECT', () => {
  it.each([
    [
      '[MQTT-3.1.2-14] with a will at QoS 3',
      'unusable QoS of the will',
      () =>
        connect({
          flags: USER_NAME | PASSWORD | CLEAN | WILL | WILL_QOS_3,
          will: [own('x'), text([...gone])],
        }),
    ],
    [
      '[MQTT-3.1.2-22] with a password and no user name',
      'a password without a user name',
      () => connect({ flags: PASSWORD | CLEAN }),
    ],
    [
      '[MQTT-3.1.2-20] without that of the password that is there',
      'bytes behind the fields of CONNECT',
      () => connect({ flags: USER_NAME | CLEAN, behind: text([...credentials(device).password]) }),
    ],
    [
      '[MQTT-3.1.2-18] without that of the user name that is there',
      'bytes behind the fields of CONNECT',
      () => connect({ flags: CLEAN, behind: text(device.id) }),
    ],
    [
      '[MQTT-3.1.4-1] with a byte that none announces',
      'bytes behind the fields of CONNECT',
      () => connect({ behind: Buffer.from([0]) }),
    ],
    [
      '[MQTT-4.7.3-1] with a will on an empty topic',
      'unusable topic of the will',
      () => connect({ will: [text(''), text([...gone])] }),
    ],
  ])('%s end the connection', async (_what, reason, packetOf) => {
    const from = home.gateway.lines.length;
    expect(await endedBy(await RawClient.open(home.gateway), packetOf())).toEqual([]);
    await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
  });

  it('with a user name and no password are answered with 5', async () => {
    const bytes = connect({ flags: USER_NAME | CLEAN });
    expect(await endedBy(await RawClient.open(home.gateway), bytes)).toEqual([['connack', 5]]);
  });
});
