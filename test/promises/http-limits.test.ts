/**
 * HTTP as bytes on a connection: what is answered, what is refused, when the connection ends (RFC 9112), and that
 * nobody's connections keep others out.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  ADMIN_TOKEN,
  ask,
  eventually,
  expect,
  type Gateway,
  type Home,
  NO_LIMITS,
  OUTER_ADDRESSES,
  testWith,
} from '../harness/index.js';

const MAX_BODY_BYTES = 1024 * 1024;
const test = testWith({
  env: { ...NO_LIMITS, GATEWAY_HTTP_MAX_BODY_BYTES: String(MAX_BODY_BYTES) },
});

/** One connection: what it sends and what comes back. */
class Line {
  readonly socket: Socket;
  received = '';

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      this.received += bytes.toString('latin1');
    });
  }

  static async open(
    { httpPort }: Pick<Gateway, 'httpPort'>,
    sends: string | Buffer = '',
    { localAddress = '127.0.0.1', host = '127.0.0.1', allowHalfOpen = false } = {},
  ): Promise<Line> {
    const line = new Line(connect({ port: httpPort, host, localAddress, allowHalfOpen }));
    await once(line.socket, 'connect');
    line.socket.write(sends);
    return line;
  }

  /** The answers: a status, with the code of a problem. */
  get answers(): string[] {
    const texts = this.received.split(/(?=HTTP\/1\.1 \d{3} )/);
    return texts
      .filter((text) => text !== '')
      .map((text) => {
        const code = /"code":"([a-z-]+)"/.exec(text)?.[1];
        return text.slice(9, 12) + (code === undefined ? '' : ` ${code}`);
      });
  }

  get isClosed(): boolean {
    return this.socket.closed;
  }

  async until(answers: readonly string[]): Promise<void> {
    await expect.poll(() => this.answers).toEqual(answers);
  }

  async closed(): Promise<void> {
    // Whether or not an error comes first.
    if (!this.isClosed) await new Promise((resolve) => this.socket.once('close', resolve));
  }
}

const AUTHORIZED = `Authorization: Bearer ${ADMIN_TOKEN}`;
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
const LAST = `${HEALTH}Connection: close\r\n\r\n`;
const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
const CREATE = `POST HOME/groups HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n`;
const AS_JSON = 'Content-Type: application/json\r\n';
const BODY = '{"name":"Nord"}';
const [LENGTH, WAITS] = [`Content-Length: ${BODY.length}\r\n`, 'Expect: 100-continue\r\n'];
const refused = (status: number, code: string) => [`${status} ${code}`];
const INVALID = refused(400, 'invalid-request');
const TOO_LARGE = refused(413, 'body-too-large');
const UNSUPPORTED = refused(415, 'unsupported-media-type');
const LARGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';

/**
 * The pieces that are sent, each when the gateway has had time for those before, and the answers; `HOME` is the path of
 * a home. Without `keeps` the gateway ends the connection.
 */
type Row = readonly [name: string, sends: readonly string[], answers: readonly string[], 'keeps'?];

const CHUNKED = `${CREATE}${AS_JSON}Transfer-Encoding: chunked\r\n\r\n`;
const HUGE = `${AS_JSON}Content-Length: 1000000000\r\n`;
const OPEN = `POST HOME/groups HTTP/1.1\r\nHost: x\r\n${LENGTH}`;
const TOO_LONG = refused(431, 'headers-too-large');
const DENIED = refused(401, 'unauthenticated');

const ROWS: readonly Row[] = [
  ...Object.entries({
    'a target that is no path': 'GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'a backslash in the target': 'GET /a\\x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'a Host with a path': 'GET /healthz HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n',
    'a Host that is none': 'GET /healthz HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n',
    'no Host': 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
    'two Hosts': 'GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\nConnection: close\r\n\r\n',
    'two Hosts in HTTP/1.0': 'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n',
    'a line that is no field': 'GET /healthz HTTP/1.1\r\nHost: a\r\nno header line\r\n\r\n',
    'HTTP of another version': 'GET /healthz HTTP/7.7\r\n\r\n',
    'half a request line': 'GET\r\n\r\n',
    'an unknown method': 'FETCH /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    TLS: '\u0016\u0003\u0001 this is TLS\r\n\r\n',
    'a request to be a proxy': 'CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n',
    'nonsense, and more': `nonsense\r\n\r\n${'x'.repeat(100_000)}`,
    'two lengths': `${CREATE}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    'a length and chunks': `${CREATE}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    'a negative length': `${CREATE}Content-Length: -1\r\n\r\n`,
  }).map(([name, bytes]): Row => [name, [bytes], INVALID]),
  ['HEAD of no path', ['HEAD * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'], ['400']],
  ['an absolute target', [`${HEALTH.replace('/', 'http://x/')}\r\n`], ['200'], 'keeps'],
  ['HTTP/1.0 without Host', ['GET /healthz HTTP/1.0\r\n\r\n'], ['200']],
  ['a huge target', [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`], TOO_LONG],
  ['a huge head', [`${HEALTH}X: ${'x'.repeat(20_000)}\r\n\r\n`], TOO_LONG],
  ['an unknown expectation', [`${HEALTH}Expect: the-inquisition\r\n\r\n`], ['200'], 'keeps'],
  ['a head in pieces', ['G', 'ET /h', HEALTH.slice(6), '\r', '\n'], ['200'], 'keeps'],
  ['a body after 100', [`${CREATE}${AS_JSON}${LENGTH}${WAITS}\r\n`, BODY], ['100', '201'], 'keeps'],
  // The head is enough to decide: the client need not send its body.
  ['no token, and no body yet', [`${OPEN}${WAITS}\r\n`], DENIED],
  ['a length over the limit, and no body yet', [`${CREATE}${HUGE}${WAITS}\r\n`], TOO_LARGE],
  ['a wrong type, and no body yet', [`${CREATE}${LENGTH}${WAITS}\r\n`], UNSUPPORTED],
  ['a length over the limit', [`${CREATE}${HUGE}\r\n`], TOO_LARGE],
  ['chunks without end', [CHUNKED, `1000\r\n${'x'.repeat(4096)}\r\n`.repeat(257)], TOO_LARGE],
  [
    'a body in chunks',
    [CHUNKED, `7\r\n${BODY.slice(0, 7)}\r\n`, `8\r\n${BODY.slice(7)}\r\n0\r\n\r\n`],
    ['201'],
    'keeps',
  ],
  ['a chunk that is none', [`${CHUNKED}1\r\n{\r\n`, 'nonsense\r\n'], INVALID],
  ['an unread body', [`${OPEN}\r\n{"nam`], DENIED],
  ['a body that has arrived, of a refused request', [`${OPEN}\r\n${BODY}`], DENIED, 'keeps'],
  ['nonsense behind a large answer', [`${LARGE}nonsense\r\n\r\n`], ['200', ...INVALID]],
  [
    'many requests',
    [`${HEALTH}\r\n`.repeat(500)],
    Array.from({ length: 500 }, () => '200'),
    'keeps',
  ],
];

/** Resolves when the gateway has read what was sent before. */
const pause = ({ gateway }: Home) => ask(gateway, 'GET', '/healthz', { token: null });

test.for(ROWS)('%s', async ([, sends, answers, keeps], { home, gateway }) => {
  const line = await Line.open(gateway);
  for (const [index, piece] of sends.entries()) {
    if (index > 0) await pause(home);
    line.socket.write(piece.replaceAll('HOME', home.path), 'latin1');
  }
  if (keeps !== undefined) line.socket.write(LAST);
  await line.closed();
  expect(line.answers).toEqual([...answers, ...(keeps === undefined ? [] : ['200'])]);
  const heads = line.received.split(/(?=HTTP\/1\.1 \d{3} )/);
  const closing = heads.filter((head) => /^connection: close/im.test(head));
  // The last answer says that it is the last, except to HTTP/1.0, which expects no other.
  if (!sends.join().includes('HTTP/1.0')) expect(closing).toEqual(heads.slice(-1));
});

// An offer that nobody takes may be ignored (RFC 9110, 7.8); curl and Java's client add it to ordinary requests.
test('an offer of HTTP/2 is answered by HTTP/1.1, again and again', async ({ home, gateway }) => {
  const line = await Line.open(gateway);
  const long = `X-Fill: ${'x'.repeat(600)}\r\n`;
  const sends = [
    [`${CREATE}${AS_JSON}${LENGTH}${OFFER}\r\n${BODY}`, '201'],
    [`${HEALTH}${OFFER}\r\n`, '200'],
    [`${HEALTH}${OFFER}${long}\r\n`, '200'],
    [LAST, '200'],
  ] as const;
  const answers: string[] = [];
  for (const [bytes, answer] of sends) {
    line.socket.write(bytes.replaceAll('HOME', home.path));
    answers.push(answer);
    await line.until(answers);
  }
  await line.closed();
});

test('a client that resets its connection does no harm', async ({ home, gateway }) => {
  const upgrade = 'GET /mqtt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const rows = [
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    `${upgrade}${key}Sec-WebSocket-Protocol: mqtt\r\n\r\n`,
    `${CREATE}${AS_JSON}Content-Length: 100\r\n\r\n{"name"`,
    `GET /events HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n\r\n`,
    LARGE,
  ];
  for (const bytes of rows) {
    const line = await Line.open(gateway, bytes.replaceAll('HOME', home.path));
    await pause(home);
    line.socket.resetAndDestroy();
    expect((await pause(home)).status).toBe(200);
  }
  // A failure that nobody caught would be one.
  expect(gateway.lines.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
});

test('JSON nested a hundred thousand levels deep is 400', async ({ home }) => {
  const depth = 100_000;
  const bodies = [
    `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`,
    `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
  ];
  const { id } = await home.device();
  const headers = { 'Content-Type': 'application/json' };
  for (const body of bodies) {
    expect((await home.ask('POST', './rooms', { body, headers })).status).toBe(400);
    expect((await home.ask('PATCH', `./devices/${id}`, { body, headers })).status).toBe(400);
  }
});

test('a client that does not close its side is closed, and read no further', async ({
  gateway,
}) => {
  const line = await Line.open(gateway, LAST, { allowHalfOpen: true });
  await new Promise((resolve) => line.socket.once('end', resolve));
  const piece = Buffer.alloc(64 * 1024);
  const flood = () => {
    while (!line.isClosed && line.socket.write(piece));
  };
  line.socket.on('drain', flood);
  flood();
  await line.closed();
  // With what the sockets buffer; without an end it would be gigabytes.
  expect(line.socket.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});

test('requests behind one in hand stay in the socket, and hold up nobody', async ({
  home,
  own,
}) => {
  const gateway = await own.gateway();
  const held = await Line.open(gateway, `GET /events HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n\r\n`);
  await expect.poll(() => held.received).toContain('event: open');
  const lines = await Promise.all(Array.from({ length: 20 }, () => Line.open(gateway)));
  held.socket.write(`${HEALTH}\r\n`.repeat(500_000));
  for (const { socket } of lines) socket.write(`${HEALTH}\r\n`.repeat(2_000));
  expect((await ask(gateway, 'GET', '/healthz')).status).toBe(200);
  expect((await pause(home)).status).toBe(200);
  const answered = lines.reduce((sum, { answers }) => sum + answers.length, 0);
  expect(answered).toBeLessThan(20 * 2_000);
  expect(held.answers).toEqual(['200']);
  expect(held.socket.writableLength).toBeGreaterThan(0);
  for (const { socket } of [held, ...lines]) socket.destroy();
});

test('many more connections wait than Node.js queues by itself', async ({ gateway }) => {
  const count = 700;
  const program = `
    let connected = 0;
    const count = () => ++connected === ${count} && process.exit();
    for (let index = 0; index < ${count}; index++)
      require('node:net').connect(${gateway.httpPort}, '127.0.0.1', count);`;
  // Meanwhile this process, and so the gateway, accepts nothing. It throws unless all have connected in time.
  execFileSync(process.execPath, ['-e', program], { timeout: 10_000 });
});

const STRANGER = { localAddress: '127.0.0.2' };

/** A request that stays in hand: its body does not come. */
const HELD = `POST /care-homes HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n${AS_JSON}Content-Length: 9\r\n\r\n`;

test('a full listener closes the connection that is idle for longest', async ({ own }) => {
  const gateway = await own.gateway({ env: { GATEWAY_HTTP_MAX_CONNECTIONS: '10' } });
  const held = await Promise.all([1, 2].map(() => Line.open(gateway, HELD, STRANGER)));
  const idle = [await Line.open(gateway, '', STRANGER), await Line.open(gateway, '', STRANGER)];
  const [first, second] = idle;
  // Its turn as the longest idle is now the last.
  first?.socket.write(`${HEALTH}\r\n`);
  await first?.until(['200']);
  const more = [];
  for (let count = 0; count < 7; count++) more.push(await Line.open(gateway, '', STRANGER));
  await second?.closed();
  await gateway.logged('http listener is full', 0);
  expect([...held, ...more].map(({ isClosed }) => isClosed)).not.toContain(true);
  expect(first?.isClosed).toBe(false);
  for (const { socket } of [...held, ...idle, ...more]) socket.destroy();
});

test.for(OUTER_ADDRESSES)(
  'an address has a limit of its own, and no open metrics',
  async (host, { own }) => {
    const env = {
      GATEWAY_HTTP_MAX_CONNECTIONS_PER_ADDRESS: '2',
      GATEWAY_HTTP_HOST: '0.0.0.0',
      GATEWAY_ALLOW_PLAINTEXT: 'true',
    };
    const gateway = await own.gateway({ env });
    const place = { host, localAddress: host };
    const metrics = 'GET /metrics HTTP/1.1\r\nHost: x\r\n';
    const open = [
      await Line.open(gateway, `${metrics}\r\n`, place),
      await Line.open(gateway, `${metrics}${AUTHORIZED}\r\n\r\n`, place),
    ];
    await open[0]?.until(['401 unauthenticated']);
    await open[1]?.until(['200']);
    await (await Line.open(gateway, '', place)).closed();
    // Loopback has no such limit.
    for (let count = 0; count < 4; count++) open.push(await Line.open(gateway));
    await gateway.logged('http-connections', 0);
    open[0]?.socket.destroy();
    await expect
      .poll(async () => (await Line.open(gateway, LAST, place).then(waitClosed)).answers)
      .toEqual(['200']);
    expect(open.slice(1).map(({ isClosed }) => isClosed)).not.toContain(true);
    for (const { socket } of open) socket.destroy();
  },
);

async function waitClosed(line: Line): Promise<Line> {
  await line.closed();
  return line;
}

test('a stopping gateway finishes what is in hand, and closes the rest at once', async ({
  own,
}) => {
  const gateway = await own.gateway();
  const home = await own.homeAt(gateway);
  const held = await Line.open(
    gateway,
    `${CREATE}${AS_JSON}${LENGTH}\r\n`.replaceAll('HOME', home.path),
  );
  const idle = [
    await Line.open(gateway),
    await Line.open(gateway, 'GET /'),
    await Line.open(gateway, `${HEALTH}\r\n`),
  ];
  await idle[2]?.until(['200']);
  const place = { httpPort: gateway.httpPort };
  const stopped = gateway.stop();
  for (const line of idle) await line.closed();
  await expect(Line.open(place)).rejects.toThrow('ECONNREFUSED');
  expect(held.isClosed).toBe(false);
  held.socket.write(BODY);
  await held.closed();
  expect(held.answers).toEqual(['201']);
  await stopped;
});

test('a taken port stops the start, by its address', async ({ own, gateway }) => {
  const second = await own.gatewayOff({ env: { GATEWAY_HTTP_PORT: String(gateway.httpPort) } });
  const failed = `port ${gateway.httpPort} on 127.0.0.1 is in use (EADDRINUSE)`;
  await expect(second.start()).rejects.toThrow(failed);
});

test('MQTT and HTTP stay open when clients open more connections than the process may have', {
  timeout: 60_000,
}, async ({ own }) => {
  // HTTP gets 50 connections of these, and MQTT 260.
  const maxOpenFiles = 400;
  const home = await own.home({ kind: 'process', maxOpenFiles, env: NO_LIMITS });
  const { gateway } = home;
  const device = await home.device();
  const sockets = [gateway.httpPort, gateway.mqttPort].flatMap((port) =>
    Array.from({ length: maxOpenFiles }, () => {
      return connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
    }),
  );
  await gateway.logged('http listener is full', 0);
  const sensor = await home.sensor({ device });
  await sensor.raise();
  for (const socket of sockets) socket.destroy();
  // The connection that a client kept is gone, too.
  await eventually(() => home.must('GET', home.path));
  await home.settled();
  expect(gateway.isRunning).toBe(true);
});
