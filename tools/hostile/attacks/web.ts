/** Strangers at HTTP, TLS and WebSocket. */
import { randomBytes } from 'node:crypto';
import { connectBytes } from '../../../test/harness/load/connection.js';
import type { Attack } from '../attack.js';
import { nothing, repeated, requestOf } from './packets.js';

const PIPELINED = 20;
const HANDSHAKES = 900;
const UNFINISHED = 1_000;
/** Far above what the gateway needs, and far below what it would hold if it kept each request for 30 s. */
const MAX_RESIDENT_BYTES = 300 * 1024 * 1024;
/** As much as a request may have in its head. */
const PADDING = 'x'.repeat(7_000);

/** Endless TLS handshakes, many at a time. */
function handshakes(tls: 'rsa' | 'ecdsa', to: 'mqtts' | 'https'): Attack {
  return {
    name: `handshakes-${tls}-${to}`,
    what: `${HANDSHAKES} TLS handshakes at a time with ${tls === 'rsa' ? 'RSA-4096' : 'ECDSA'}, over ${to}`,
    connections: HANDSHAKES,
    leastSeconds: 10,
    to,
    needs: () => ({ tls }),
    sends: nothing,
    // Its work is done in small turns: nobody else waits for it, so nobody has to look for it.
    isUnnamed: true,
    expects: 'served',
  };
}

const [CONTINUATION, BINARY, PING] = [0x0, 0x2, 0x9];
const [FIN, MASKED, LENGTH_16, LENGTH_64, SMALL] = [0x80, 0x80, 126, 127, 125];
const BATCH = 500;
const NONE = Buffer.alloc(0);
const PINGREQ = Buffer.of(0xc0, 0);

/** A client's frame (RFC 6455, 5.2) with a zero mask, which is as valid as any other. */
function frame(opcode: number, payload: Buffer, isFinal = true, claimed = payload.length): Buffer {
  const first = opcode | (isFinal ? FIN : 0);
  const mask = Buffer.alloc(4);
  if (claimed <= SMALL) return Buffer.concat([Buffer.of(first, MASKED | claimed), mask, payload]);
  const isShort = claimed < 65_536;
  const length = Buffer.alloc(isShort ? 2 : 8);
  if (isShort) length.writeUInt16BE(claimed);
  else length.writeBigUInt64BE(BigInt(claimed));
  const head = Buffer.of(first, MASKED | (isShort ? LENGTH_16 : LENGTH_64));
  return Buffer.concat([head, length, mask, payload]);
}

/** Logs in over WebSocket as the attacker's device, then sends the same frames as fast as they are read. */
function frames(
  name: string,
  what: string,
  expects: Attack['expects'],
  first: Buffer,
  batch: Buffer,
): Attack {
  return {
    name: `websocket-${name}`,
    what: `one device over 20 WebSocket connections: ${what}`,
    connections: 20,
    to: 'http',
    has: { devices: 1 },
    expects,
    sends: async function* (line, { socket, closed }) {
      const [device] = line.arms.devices;
      if (device === undefined) return;
      const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`;
      const version = 'Sec-WebSocket-Version: 13';
      const protocol = 'Sec-WebSocket-Protocol: mqtt';
      const answered = new Promise((resolve) => socket.once('data', resolve));
      yield requestOf('/mqtt', 'Connection: Upgrade', 'Upgrade: websocket', version, protocol, key);
      await Promise.race([answered, closed]);
      const login = { ...device, clientId: `${device.username}-${line.index}` };
      yield Buffer.concat([frame(BINARY, connectBytes(login)), first]);
      yield* line.endless(batch);
    },
  };
}

export const WEB: readonly Attack[] = [
  {
    name: 'pipelined-health',
    what: '900 connections from one address pipeline GET /healthz as fast as they are answered',
    connections: 900,
    to: 'http',
    sends: async function* (line, { socket, closed }) {
      while (!line.isOver) {
        // Leaves the other connections their turn.
        const answered = new Promise((resolve) => socket.once('data', resolve));
        yield requestOf('/healthz').repeat(PIPELINED);
        await Promise.race([answered, closed]);
      }
    },
    isUnnamed: true,
    expects: 'served',
  },
  {
    name: 'wrong-tokens',
    what: '4,000 requests a second with wrong bearer tokens from loopback, over 50 connections',
    connections: 50,
    to: 'http',
    sends: (line) =>
      line.atRate(80, () =>
        requestOf('/care-homes', `Authorization: Bearer ${crypto.randomUUID()}`),
      ),
    expects: 'denied',
  },
  handshakes('rsa', 'mqtts'),
  handshakes('ecdsa', 'mqtts'),
  handshakes('rsa', 'https'),
  {
    name: 'metrics-scraping',
    what: '20 connections from loopback ask for /metrics without a pause',
    connections: 20,
    to: 'http',
    sends: async function* (line, { socket, closed }) {
      while (!line.isOver) {
        const answered = new Promise((resolve) => socket.once('data', resolve));
        yield requestOf('/metrics');
        await Promise.race([answered, closed]);
      }
    },
    isUnnamed: true,
    expects: 'denied',
  },
  {
    name: 'unfinished-bodies',
    what: `a stranger sends ${UNFINISHED} POSTs a second with heads of 7 kB and never their bodies, over new connections`,
    connections: UNFINISHED,
    to: 'http',
    sends: async function* (line) {
      const head = `POST /care-homes HTTP/1.1\r\nHost: gateway\r\nX-Padding: ${PADDING}\r\n`;
      yield `${head}Content-Length: 65000\r\n\r\n`;
      await line.pause(1_000);
      yield '';
    },
    isUnnamed: true,
    expects: 'denied',
    harm: async ({ peak }) => {
      const bytes = peak.residentBytes[0] ?? 0;
      return bytes <= MAX_RESIDENT_BYTES ? undefined : `${Math.round(bytes / 1024 ** 2)} MiB held`;
    },
  },
  frames(
    'fragments',
    'a message in fragments of one byte without an end',
    'closed',
    frame(BINARY, Buffer.of(0x30), false),
    repeated(frame(CONTINUATION, Buffer.of(0x7f), false), BATCH),
  ),
  frames(
    'pings',
    'pings of 125 bytes without a pause',
    'closed',
    NONE,
    repeated(frame(PING, Buffer.alloc(SMALL, 'x')), BATCH),
  ),
  frames(
    'tiny',
    'each packet a frame of its own',
    'served',
    NONE,
    repeated(frame(BINARY, PINGREQ), BATCH),
  ),
  frames('empty', 'frames without a payload', 'closed', NONE, repeated(frame(BINARY, NONE), BATCH)),
  frames(
    'huge',
    'a frame that claims to have a terabyte',
    'closed',
    frame(BINARY, Buffer.alloc(1_024), true, 2 ** 40),
    Buffer.alloc(65_536),
  ),
];
