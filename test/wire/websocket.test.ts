/**
 * MQTT over WebSocket: the handshake, how packets lie in frames, and frames that bring nothing. What MQTT says is the
 * same as over TCP; a library over WebSocket is one row.
 */
import { once } from 'node:events';
import { generate, type Packet, parser } from 'mqtt-packet';
import { createWebSocketStream, WebSocket } from 'ws';
import {
  Client,
  type Credentials,
  expect,
  type Gateway,
  publishPacket,
  rawAsk,
  test,
} from '../harness/index.js';

const NAMED =
  'Too many WebSocket frames without an MQTT packet: the connections are closed: address 127.0.0.1';
/** Useless frames, sent together: a connection may send 1,000, plus ten a second. */
const FLOOD = 3_000;
const [TOO_LARGE, POLICY] = [1009, 1008];

function open(gateway: Gateway, path = '/mqtt', protocols = ['mqtt']): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${gateway.httpPort}${path}`, protocols);
}

/** The HTTP status of the handshake: 101 when it succeeds. */
async function statusOf(gateway: Gateway, path: string): Promise<number> {
  const socket = open(gateway, path);
  const status = new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode));
    socket.once('error', reject);
  });
  socket.on('error', () => undefined);
  return status.finally(() => socket.terminate());
}

async function connected(gateway: Gateway, who: Credentials) {
  const socket = open(gateway);
  const client = new Client(createWebSocketStream(socket));
  await once(socket, 'open');
  expect(await client.login(who)).toBe(0);
  return { socket, client };
}

test.for([
  ['/mqtt', 101],
  ['/mqtt?token=x', 101],
  ['/mqtt/', 404],
  ['/mqtts', 404],
  ['/MQTT', 404],
  ['/mqtt/x', 404],
  ['//mqtt', 404],
] as const)('%s is answered with %i', async ([path, status], { gateway }) => {
  expect(await statusOf(gateway, path)).toBe(status);
});

test.for([
  [['mqtt'], 'mqtt'],
  [['mqttv3.1'], 'mqttv3.1'],
  [['chat', 'mqttv3.1', 'mqtt'], 'mqtt'],
] as const)('of the subprotocols %j it speaks %s', async ([offered, chosen], { gateway }) => {
  const socket = open(gateway, '/mqtt', [...offered]);
  await once(socket, 'open');
  expect(socket.protocol).toBe(chosen);
  socket.terminate();
});

test('the subprotocol is required [MQTT-6.0.0-3]', async ({ gateway }) => {
  const socket = open(gateway, '/mqtt', ['chat']);
  const [error] = await once(socket, 'error');
  expect(error).toMatchObject({ message: expect.stringContaining('subprotocol') });
});

test('a handshake that is none is answered as the HTTP interface does', async ({ home }) => {
  const lines = ['Host: x', 'Connection: upgrade', 'Upgrade: websocket'];
  const head = [...lines, 'Sec-WebSocket-Version: 13', 'Origin: null'].join('\r\n');
  const answer = await rawAsk(home.gateway, `GET /mqtt HTTP/1.1\r\n${head}\r\n\r\n`);
  expect(answer.outcome).toBe('400 invalid-request');
  for (const [path, status] of [
    ['/', 200],
    ['/care-homes', 401],
  ] as const) {
    expect([path, (await home.ask('GET', path, { token: null })).status]).toEqual([path, status]);
  }
});

test('a client has to log in, is told why not, and is closed when its token ends', async ({
  home,
}) => {
  const { gateway } = home;
  const refused = new Client(createWebSocketStream(open(gateway)), { clientId: 'x'.repeat(257) });
  expect(await refused.login(home.viewer)).toBe(2);
  await refused.closed();
  const token = await home.token();
  const { client } = await connected(gateway, token);
  await home.must('DELETE', `/access-tokens/${token.id}`);
  await client.closed();
});

test('a device that vanishes is offline', async ({ home }) => {
  const device = await home.device();
  const nurse = await home.nurse({ filters: [home.filter(device, 'status')] });
  const last = () => nurse.messages().at(-1)?.['online'];
  const { client } = await connected(home.gateway, device);
  await nurse.until(() => last() === true, 'online');
  client.vanish();
  await nurse.until(() => last() === false, 'offline');
});

test('each packet is sent in a message of its own, for clients that read only one of each', async ({
  home,
}) => {
  const device = await home.device();
  const sizes = [...Array.from({ length: 20 }, (_, index) => index + 1), 40_000, 3];
  for (const [index, bytes] of sizes.entries()) {
    await home.publish(device, `value/${index}`, 'x'.repeat(bytes), { retain: true });
  }
  const socket = open(home.gateway);
  const client = new Client(createWebSocketStream(socket));
  await once(socket, 'open');
  const messages: (string | undefined)[][] = [];
  socket.on('message', (message: Buffer) => {
    const inside: (string | undefined)[] = [];
    const reader = parser().on('packet', ({ cmd }) => inside.push(cmd));
    // Bytes that are left are the beginning of another packet.
    if (reader.parse(message) > 0) inside.push(undefined);
    messages.push(inside);
  });
  await client.login(home.viewer);
  await client.subscribe(home.filter(device, 'value/#'));
  await client.untilCount(sizes.length);
  expect(messages).toEqual([['connack'], ['suback'], ...sizes.map(() => ['publish'])]);
  client.vanish();
});

/** Ways to lay a PUBLISH in frames. */
const FRAMES: readonly (readonly [string, (socket: WebSocket, packet: Buffer) => void])[] = [
  [
    'with an empty frame before and after each of its bytes',
    (socket, packet) => {
      for (const byte of packet)
        for (const part of [[], [byte], []]) socket.send(Buffer.from(part));
    },
  ],
  [
    'in a message of many fragments, some of them empty',
    (socket, packet) => {
      for (const byte of packet) {
        for (const part of [[byte], []]) socket.send(Buffer.from(part), { fin: false });
      }
      socket.send(Buffer.alloc(0));
    },
  ],
  [
    'together with another one',
    (socket, packet) => socket.send(Buffer.concat([generate({ cmd: 'pingreq' }), packet])),
  ],
];

test.for(FRAMES)('a packet is read that comes %s', async ([, send], { home }) => {
  const device = await home.device();
  const { socket, client } = await connected(home.gateway, device);
  for (let messageId = 1; messageId <= 20; messageId++) {
    const message = publishPacket(`devices/${device.id}/x`, 'x'.repeat(messageId));
    send(socket, generate({ ...message, qos: 1, messageId }));
    await client.next('puback');
  }
  client.vanish();
});

interface Useless {
  readonly what: string;
  readonly send: (socket: WebSocket, publish: Packet) => void;
  /** The code that closes the WebSocket; undefined where the gateway does not care. */
  readonly code?: number;
  readonly isNamed: boolean;
}

function flood(send: (socket: WebSocket) => void) {
  return (socket: WebSocket) => {
    for (let sent = 0; sent < FLOOD; sent++) send(socket);
  };
}

const USELESS: readonly Useless[] = [
  { what: 'empty frames', send: flood((socket) => socket.send(Buffer.alloc(0))), isNamed: true },
  { what: 'pings', send: flood((socket) => socket.ping()), isNamed: true },
  { what: 'pongs', send: flood((socket) => socket.pong()), isNamed: true },
  {
    what: 'a message of more than 4,096 fragments',
    send: (socket) => {
      for (let sent = 0; sent <= 4_096; sent++) socket.send(Buffer.of(0x30), { fin: false });
    },
    code: POLICY,
    isNamed: true,
  },
  {
    what: 'a frame of 1 MiB',
    send: (socket) => socket.send(Buffer.alloc(2 ** 20)),
    code: TOO_LARGE,
    isNamed: true,
  },
  {
    what: 'the header of a packet of 2 MiB',
    send: (socket) => socket.send(Buffer.from('3080808001', 'hex')),
    isNamed: false,
  },
  {
    what: 'a text frame [MQTT-6.0.0-1]',
    send: (socket, publish) => socket.send(generate(publish).toString()),
    isNamed: true,
  },
];

test.for(USELESS)('$what closes the connection', async ({ send, code, isNamed }, { home }) => {
  const namings = async () => {
    const { text } = await home.must('GET', '/metrics');
    const sample = /^gateway_quota_exceeded_total\{quota="websocket_frames"\} (\d+)$/m;
    return Number(sample.exec(text)?.[1] ?? 0);
  };
  const device = await home.device();
  const { socket, client } = await connected(home.gateway, device);
  const before = await namings();
  const closed = once(socket, 'close');
  send(socket, publishPacket(`devices/${device.id}/x`, '1'));
  const [closedWith] = await closed;
  if (code !== undefined) expect(closedWith).toBe(code);
  await client.closed();
  if (!isNamed) return;
  await expect.poll(namings).toBeGreaterThan(before);
  await expect.poll(() => home.faults()).toContain(NAMED);
});

test('ten pings are answered', async ({ home }) => {
  const { socket, client } = await connected(home.gateway, home.viewer);
  let pongs = 0;
  socket.on('pong', () => pongs++);
  for (let sent = 0; sent < 10; sent++) socket.ping();
  await expect.poll(() => pongs).toBe(10);
  await client.ping();
  client.vanish();
});
