import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { basic, withCamera } from '../footage/cameras.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';
import { DEVICE_PATHS, fill, protectedRoutesOf, takesJson } from '../routes.js';

const redis = useRedis();
const running = useGateway(redis);
const tokenBody = z.looseObject({ id: z.string(), token: z.string() });
const problemBody = z.looseObject({ code: z.string().optional() });
const BODY = '{"name":"x"}';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request without the last byte of its body; returns a function that sends the byte and reads the answer. */
async function heldBack(port: number, { method, path, headers, body = BODY }: Sent) {
  const length = { 'Content-Length': Buffer.byteLength(body), 'Content-Type': 'application/json' };
  const options = { port, host: '127.0.0.1', method, path, agent: false };
  const waiting = { ...length, ...headers, Expect: '100-continue' };
  const request = httpRequest({ ...options, headers: waiting });
  request.flushHeaders();
  // The gateway asks for the body once the guards have let the request pass.
  await once(request, 'continue');
  request.write(body.slice(0, -1));
  return async (): Promise<string> => {
    request.end(body.slice(-1));
    const [response] = await once(request, 'response');
    const { code = 'done' } = problemBody.parse(await readJson(response));
    return `${response.statusCode} ${code}`;
  };
}

async function adminToken(gateway: TestGateway, expiresAt: string | null = null) {
  const json = { name: 'second', grants: [{ location: '*', role: 'admin' }], expiresAt };
  const created = await gateway.admin('POST', '/access-tokens', { json });
  const { id, token } = tokenBody.parse(created.json);
  return { id, headers: { Authorization: `Bearer ${token}` } };
}

describe('a change that waits for another', () => {
  it('is not made when the other ends the right to it', async () => {
    const gateway = running();
    const { id, headers } = await adminToken(gateway);
    await gateway.redis.client('PAUSE', 60_000, 'WRITE');
    const deletion = gateway.admin('DELETE', `/access-tokens/${id}`);
    // The gateway reads requests in the order in which they come.
    await gateway.call('GET', '/healthz');
    const json = { name: 'heir', grants: [{ location: '*', role: 'admin' }] };
    const creation = gateway.call('POST', '/access-tokens', { headers, json });
    await gateway.call('GET', '/healthz');
    await gateway.redis.client('UNPAUSE');
    expect((await deletion).status).toBe(204);
    expect(failure(await creation)).toBe('401 unauthenticated');
    const { json: tokens } = await gateway.admin('GET', '/access-tokens');
    expect(JSON.stringify(tokens)).not.toContain('heir');
  });
});

describe('a body whose last byte arrives after', () => {
  it('its token was deleted changes nothing, on any route', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const ids = { locationId, deviceId, ...(await gateway.placeInGroup(locationId, deviceId)) };
    const isCustomData = ({ path }: { path: string }) => path.endsWith('/custom-data');
    const routes = protectedRoutesOf().filter(
      (route) => takesJson(route) || (isCustomData(route) && route.method === 'PATCH'),
    );
    expect(routes.length).toBeGreaterThan(10);
    const { id, headers } = await adminToken(gateway);
    const requests = await Promise.all(
      routes.map(({ method, path }) =>
        heldBack(gateway.port, { method, path: fill(path, ids), headers }),
      ),
    );
    expect((await gateway.admin('DELETE', `/access-tokens/${id}`)).status).toBe(204);
    const answers = await Promise.all(requests.map((finish) => finish()));
    expect(answers).toEqual(routes.map(() => '401 unauthenticated'));
  });

  it('its token has expired changes nothing', async () => {
    const gateway = await startGateway(redis);
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const { headers } = await adminToken(gateway, expiresAt);
    const sent = { method: 'POST', path: '/care-homes', headers };
    const [inTime, late] = await Promise.all([
      heldBack(gateway.port, sent),
      heldBack(gateway.port, sent),
    ]);
    expect(await inTime()).toBe('201 done');
    gateway.aheadMs = 61_000;
    expect(await late()).toBe('401 unauthenticated');
  });

  it('its device has left the group of the token changes nothing', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const { groupId, roomId } = await gateway.placeInGroup(locationId, deviceId);
    const grant = { location: locationId, group: groupId, role: 'manager' as const };
    const headers = { Authorization: `Bearer ${await gateway.createToken([grant])}` };
    const device = `/care-homes/${locationId}/devices/${deviceId}`;
    const path = `${device}/custom-data`;
    const finish = await heldBack(gateway.port, { method: 'PATCH', path, headers });
    const toItsRoom = { path: `${device}/move`, body: JSON.stringify({ targetRoomId: roomId }) };
    const finishMove = await heldBack(gateway.port, { method: 'POST', headers, ...toItsRoom });
    const moved = await gateway.moveDevice(locationId, deviceId, { targetRoomId: null });
    expect(moved.status).toBe(204);
    expect(await finish()).toBe('403 forbidden');
    expect(await finishMove()).toBe('403 forbidden');
    expect((await gateway.admin('GET', path)).json).toEqual({});
    expect((await gateway.admin('GET', device)).json).toMatchObject({ roomId: null });
  });

  it('its device got a new secret gets no upload', async () => {
    const { gateway, camera } = await withCamera(running());
    const [path = ''] = DEVICE_PATHS;
    const sent = {
      method: 'POST',
      path: fill(path, { deviceId: camera.id }),
      headers: basic(camera.id, camera.secret),
      body: '{"type":"video","contentType":"video/mp4"}',
    };
    const inTime = await heldBack(gateway.port, sent);
    expect(await inTime()).toBe('201 done');
    const late = await heldBack(gateway.port, sent);
    const locationId = await gateway.locationOf(camera.id);
    const replaced = `/care-homes/${locationId}/devices/${camera.id}/secret`;
    expect((await gateway.admin('POST', replaced)).status).toBe(200);
    expect(await late()).toBe('401 unauthenticated');
  });
});
