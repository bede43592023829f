import { createServer, type Socket } from 'node:net';
import { unusedPort } from '../../../test/former/servers/unused-port.js';
import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';

const PUBLISH_BYTES = 200 * 1024 * 1024;
const CHUNK = Buffer.alloc(65_536, 'x');
const CONNACK = Buffer.of(0x20, 2, 0, 0);
const TOPIC = 'care-homes/x/devices/y/commands/z';

/** The head of a PUBLISH at QoS 0 that this many bytes follow [MQTT-2.2.3]. */
function publishHead(): Buffer {
  const topic = Buffer.from(TOPIC);
  const length: number[] = [];
  let rest = 2 + topic.length + PUBLISH_BYTES;
  do {
    length.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.of(0x30, ...length, 0, topic.length), topic]);
}

async function serve(field: Field, socket: Socket): Promise<void> {
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  socket.resume();
  socket.write(CONNACK);
  await field.pause(100);
  socket.write(publishHead());
  for (let sent = 0; sent < PUBLISH_BYTES && !socket.destroyed; sent += CHUNK.length) {
    field.count('bytes', CHUNK.length);
    if (socket.write(CHUNK)) continue;
    await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
}

const upstream: Attack = {
  name: 'hostile-upstream',
  finding: 'S11',
  surface: 'mqtt',
  what: 'the upstream of a bridge sends a PUBLISH of 200 MB, again on each connection',
  isForMosquitto: false,
  needs: async () => ({ upstreamPort: await unusedPort() }),
  arm: async (site) => {
    site.attackerNames.add('hostile');
    return { ...(await site.arms(0)), texts: { port: String(site.upstreamPort()) } };
  },
  run: async (field) => {
    const server = createServer((socket) => {
      field.count('connections');
      serve(field, socket).catch(() => undefined);
    });
    server.listen(Number(field.text('port')), '127.0.0.1');
    while (!field.isOver) await field.pause(100);
  },
};

export const UPSTREAM: readonly Attack[] = [upstream];
