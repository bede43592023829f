import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api } from '../former/clients/api.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { DescribedHttp } from '../harness/described/described-http.js';
import { problemOf, readAnswer } from '../http/client.js';
import { basic } from '../http/footage/cameras.js';
import {
  type HostileRequest,
  hostileRequest,
  type Target,
} from '../http/requests/hostile-input.js';
import { type Route, takesJson } from '../http/routes.js';

const MAX_BODY_BYTES = 1024 * 1024;
/** Small enough for a socket's buffer, so that every answer arrives. */
const HOSTILE_BODY_BYTES = 4096;
/** HTTP gets 50 connections of these, and MQTT 260. */
const MAX_OPEN_FILES = 400;
const RUNS = 150;
/** Timeout of an exchange; a longer one hangs. */
const HANG_MS = 10_000;
const DEPTH = 100_000;

const pathsSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});
const uploadSchema = z.object({ uploadUrl: z.string() });

let gateway: GatewayProcess;
let api: Api;
let target: Target;
let described: DescribedHttp;

beforeAll(async () => {
  const environment = {
    GATEWAY_HTTP_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
    GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
  };
  gateway = await GatewayProcess.create(environment, MAX_OPEN_FILES);
  await gateway.start();
  api = new Api(gateway);
  const document: unknown = await (await fetch(`${gateway.httpUrl}/openapi.json`)).json();
  described = new DescribedHttp(document);
  const location = await api.createLocation();
  const [device, camera] = [
    await api.createDevice(location.id),
    await api.createDevice(location.id, 'Kamera'),
  ];
  const authorization = basic(camera.id, camera.secret)['Authorization'] ?? '';
  const prepared = await fetch(`${gateway.httpUrl}/devices/${camera.id}/footage`, {
    method: 'POST',
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    body: '{"type":"video","contentType":"video/mp4"}',
  });
  const { uploadUrl } = uploadSchema.parse(await prepared.json());
  target = {
    routes: routesIn(document),
    ids: { locationId: location.id, deviceId: device.id },
    adminToken: ADMIN_TOKEN,
    camera: { id: camera.id, authorization },
    signed: [uploadUrl.slice(gateway.httpUrl.length)],
    maxBodyBytes: HOSTILE_BODY_BYTES,
  };
});

afterAll(() => gateway.remove());

/** The routes of the OpenAPI document, which lists them all (`http/openapi`). */
function routesIn(document: unknown): Route[] {
  return Object.entries(pathsSchema.parse(document).paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    })),
  );
}

/** The ways to send a body. */
const FRAMINGS = ['at once', 'byte by byte', 'in chunks', 'too short', 'never ending'] as const;
type Framing = (typeof FRAMINGS)[number];

/** How the endless answer of `/events` begins. */
const STREAM = 'event: open';

/** Sends a request over its own connection, and reads until the gateway hangs up or streams events. */
async function exchange(request: HostileRequest, framing: Framing): Promise<string> {
  const { method, path, headers, body = Buffer.alloc(0) } = request;
  const isChunked = framing === 'in chunks' || framing === 'never ending';
  const length = framing === 'too short' ? body.length + 5 : body.length;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: gateway',
    'Connection: close',
    'Expect: 100-continue',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
  ];
  const chunk = [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')];
  const end = framing === 'in chunks' ? '0\r\n\r\n' : '5\r\nno';
  const sent = isChunked && body.length > 0 ? Buffer.concat(chunk) : body;
  const socket = connect({ port: gateway.addresses.http.port, host: '127.0.0.1' });
  // After its answer the gateway may hang up on the rest of a body.
  socket.on('error', () => undefined);
  const hung = setTimeout(() => socket.destroy(new Error('a hang')), HANG_MS);
  const received: Buffer[] = [];
  socket.on('data', (data: Buffer) => {
    received.push(data);
    if (data.includes(STREAM) && isEventStream(received)) socket.destroy();
  });
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (framing === 'byte by byte')
    for (const byte of sent.subarray(0, 50)) socket.write(Buffer.of(byte));
  socket.write(framing === 'byte by byte' ? sent.subarray(50) : sent);
  if (isChunked) socket.write(end);
  if (framing === 'too short' || framing === 'never ending') socket.end();
  await new Promise((resolve) => socket.once('close', resolve));
  clearTimeout(hung);
  if (socket.errored?.message === 'a hang') throw new Error(`${lines.join('\n')}: hangs`);
  return Buffer.concat(received).toString('utf8');
}

/** Whether the answer is events; the OpenAPI document has an example of them. */
function isEventStream(received: readonly Buffer[]): boolean {
  const [head = ''] = Buffer.concat(received).toString('latin1').split('\r\n\r\n');
  return /^content-type: text\/event-stream/im.test(head);
}

/** Asserts that the answer is documented and not a failure of the gateway. */
function expectSound({ method, path, headers, body }: HostileRequest, received: string): void {
  const answer = readAnswer(received);
  expect(statusOf(received)).toBeLessThan(500);
  expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  if (answer.status >= 400) problemOf(answer);
  const { status, headers: fields, text: content } = answer;
  const request = { mediaType: headers['Content-Type'], text: body?.toString() };
  described.check({ method, path, request, status, headers: fields, text: content });
}

function statusOf(received: string): number {
  const { status } = readAnswer(received);
  return Number.isInteger(status) ? status : 599;
}

describe('the built gateway', () => {
  it('answers hostile requests to every route, however they are sent', async () => {
    const requests = fc.tuple(hostileRequest(target), fc.constantFrom(...FRAMINGS));
    await fc.assert(
      fc.asyncProperty(requests, async ([request, framing]) => {
        const received = await exchange(request, framing);
        // A client that breaks off may get only part of the answer.
        const isBrokenOff = framing === 'too short' || framing === 'never ending';
        if (isBrokenOff) expect(statusOf(received)).toBeLessThan(500);
        else expectSound(request, received);
      }),
      { numRuns: RUNS },
    );
    expect(gateway.lines.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
  });

  it('answers JSON nested a hundred thousand levels deep, on every route', async () => {
    const [open, close] = ['['.repeat(DEPTH), ']'.repeat(DEPTH)];
    const objects = '{"a":'.repeat(DEPTH);
    const bodies = [`{"name":${open}${close}}`, `${objects}1${'}'.repeat(DEPTH)}`];
    const ownCredentials = (path: string) => path.startsWith('/devices/');
    for (const { method, path } of target.routes.filter(takesJson)) {
      const own = ownCredentials(path);
      const { locationId = '', deviceId = '' } = target.ids;
      const filled = path
        .replace(':locationId', locationId)
        .replace(':deviceId', own ? target.camera.id : deviceId)
        .replaceAll(/:\w+/g, locationId);
      const Authorization = own ? target.camera.authorization : `Bearer ${ADMIN_TOKEN}`;
      for (const body of bodies) {
        const headers = { Authorization, 'Content-Type': 'application/json' };
        const response = await fetch(gateway.httpUrl + filled, { method, headers, body });
        // No room or group has this id.
        const expected =
          filled.endsWith(`/${locationId}`) || filled.includes('/rooms/') ? [400, 404] : [400];
        expect(expected, `${method} ${path} ${body.slice(0, 9)}`).toContain(response.status);
        await response.body?.cancel();
      }
    }
  });

  it('keeps MQTT and HTTP open when clients open more connections than it may have open files', async () => {
    const { http, mqtt: mqttAddress } = gateway.addresses;
    const device = await api.createDevice(target.ids['locationId'] ?? '');
    const full = gateway.logged('http listener is full', gateway.lines.length);
    const sockets = [http, mqttAddress].flatMap(({ port }) =>
      Array.from({ length: MAX_OPEN_FILES }, () => {
        const socket = connect({ port, host: '127.0.0.1' });
        return socket.on('error', () => undefined);
      }),
    );
    await full;
    const sensor = await mqtt.connectAsync(gateway.mqttUrl, {
      username: device.id,
      password: device.secret,
      reconnectPeriod: 0,
    });
    await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    await sensor.endAsync();
    const closed = sockets.map((socket) => {
      socket.end();
      return text(socket).catch(() => '');
    });
    await Promise.all(closed);
    await expect.poll(async () => (await api.alarms({ ...device })).events.length).toBe(1);
  });
});
