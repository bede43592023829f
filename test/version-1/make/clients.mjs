import { once } from 'node:events';
import { connect as connectSocket, createServer } from 'node:net';
import mqtt from 'mqtt';
import { generate, parser } from 'mqtt-packet';
import { until } from './waiting.mjs';

/** The HTTP interface, as the holder of a token or a device uses it. */
export class Http {
  #gateway;
  #authorization;

  constructor(gateway, authorization = `Bearer ${gateway.adminToken}`) {
    this.#gateway = gateway;
    this.#authorization = authorization;
  }

  /** The text of the answer. */
  async text(method, path, body) {
    const headers = { authorization: this.#authorization };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await fetch(this.#gateway.httpUrl + path, { method, headers, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  async json(method, path, body) {
    const text = await this.text(method, path, body && JSON.stringify(body));
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Every event of a listing, page after page. */
  async events(path) {
    const events = [];
    let cursor = null;
    do {
      const page = await this.json('GET', cursor ? `${path}&cursor=${cursor}` : path);
      events.push(...page.events);
      cursor = page.nextCursor;
    } while (cursor);
    return events;
  }
}

function credentials(who) {
  return { username: who.id, password: who.secret ?? who.token };
}

/** A well-behaved client that remembers what it receives; persistent when it has a client id. */
export async function subscriber(gateway, who, clientId) {
  const session = clientId === undefined ? {} : { clientId, clean: false };
  const options = { reconnectPeriod: 0, ...credentials(who), ...session };
  const client = mqtt.connect(gateway.mqttUrl, options);
  const received = [];
  client.on('message', (topic, payload, { retain }) => {
    received.push({ topic, text: payload.toString(), retain });
  });
  await once(client, 'connect');
  return {
    received,
    subscribe: (filters, qos = 1) => client.subscribeAsync(filters, { qos }),
    end: () => client.endAsync(),
  };
}

/** Makes a persistent session with these filters, which is away afterwards. */
export async function absent(gateway, who, clientId, filters, qos = 1) {
  const client = await subscriber(gateway, who, clientId);
  if (filters.length > 0) await client.subscribe(filters, qos);
  await client.end();
}

/** Publishes one after the other; each is `[rest of the topic, payload, options]`. */
export async function publish(gateway, device, ...messages) {
  const client = await mqtt.connectAsync(gateway.mqttUrl, credentials(device));
  for (const [rest, payload, options] of messages) {
    await client.publishAsync(`devices/${device.id}/${rest}`, payload, { qos: 1, ...options });
  }
  await client.endAsync();
}

export async function command(gateway, manager, topic, payload) {
  const client = await mqtt.connectAsync(gateway.mqttUrl, credentials(manager));
  await client.publishAsync(topic, payload, { qos: 1 });
  await client.endAsync();
}

/** A persistent session on bare packets: acknowledges what it is told to. */
export async function rawClient(gateway, who, clientId) {
  const socket = connectSocket(gateway.mqttPort, '127.0.0.1');
  const packets = [];
  const incoming = parser();
  incoming.on('packet', (packet) => packets.push(packet));
  socket.on('data', (chunk) => incoming.parse(chunk));
  const send = (packet) => socket.write(generate(packet));
  const { username, password } = credentials(who);
  const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, keepalive: 60 };
  send({ ...connect, clean: false, clientId, username, password: Buffer.from(password) });
  const came = (cmd, count) => () => packets.filter((one) => one.cmd === cmd).length >= count;
  const next = async (cmd, count = 1) => {
    await until(came(cmd, count), `${count} ${cmd} for ${clientId}`);
    return packets.filter((one) => one.cmd === cmd);
  };
  const [{ returnCode }] = await next('connack');
  if (returnCode !== 0) throw new Error(`CONNACK with ${returnCode}`);
  return {
    send,
    next,
    /** A ping that is answered: all that was sent before has been read. */
    async settled() {
      const answered = packets.filter(({ cmd }) => cmd === 'pingresp').length;
      send({ cmd: 'pingreq' });
      await next('pingresp', answered + 1);
    },
    vanish: () => socket.destroy(),
  };
}

/**
 * An MQTT 5 broker that takes messages as it is told to: `answer` returns a reason code for each, or
 * undefined to leave it unanswered.
 */
export async function upstream(port, answer) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const incoming = parser({ protocolVersion: 5 });
    const send = (packet) => socket.write(generate(packet, { protocolVersion: 5 }));
    incoming.on('packet', (packet) => {
      if (packet.cmd === 'connect') {
        send({ cmd: 'connack', reasonCode: 0, sessionPresent: false });
      } else if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
      else if (packet.cmd === 'publish') {
        const reasonCode = answer({ topic: packet.topic, text: packet.payload.toString() });
        if (reasonCode === undefined) return;
        send({ cmd: 'puback', messageId: packet.messageId, reasonCode });
      }
    });
    socket.on('data', (chunk) => incoming.parse(chunk));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A port on which nothing listens. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
