import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { recordsOf } from '../access/audit-pages.js';
import type { Camera } from '../answer-bodies.js';
import { type Answer, failure, problemOf, statusesOf } from '../client.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';
import { askToUpload, basic, prepare } from './cameras.js';

const redis = useRedis();
const running = useGateway(redis);

async function start(gateway = running()) {
  const locationId = await gateway.createLocation();
  return { gateway, locationId, camera: await gateway.createCamera(locationId) };
}

/** Makes the store refuse writes until the end of the test; it still answers. */
async function fillStore(gateway: TestGateway): Promise<void> {
  await gateway.redis.config('SET', 'maxmemory', '1');
  onTestFinished(async () => {
    // The test's gateway has ended by now, along with its connection.
    const other = new Redis({ path: redis.socketPath });
    await other.config('SET', 'maxmemory', '0');
    other.disconnect();
  });
}

describe('a camera that announces a recording', () => {
  it('gets a key under its own prefix, and a URL valid for ten minutes', async () => {
    const { gateway, camera } = await start();
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { key, uploadUrl, expiresAt } = await prepare(gateway, camera);
    expect(key).toMatch(new RegExp(`^${camera.id}/video/[0-9a-f-]{36}\\.mp4$`));
    expect(uploadUrl.startsWith(`http://127.0.0.1:${gateway.port}/footage/${key}?`)).toBe(true);
    expect(Date.parse(expiresAt) - before).toBeGreaterThanOrEqual(600_000);
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
    expect((await prepare(gateway, camera)).key).not.toBe(key);
  });

  it('may write id and scheme in upper or lower case', async () => {
    const { gateway, camera } = await start();
    const { Authorization = '' } = basic(camera.id.toUpperCase(), camera.secret);
    const json = { type: 'audio', contentType: 'Audio/Vnd.Wave+X' };
    const answer = await gateway.call('POST', `/devices/${camera.id.toUpperCase()}/footage`, {
      json,
      headers: { Authorization: Authorization.replace('Basic', 'bASIC') },
    });
    expect(answer.status).toBe(201);
    expect(answer.text).toContain(`${camera.id}/audio/`);
    expect(answer.text).toContain('.vnd.wave+x"');
  });

  it('is refused with wrong credentials, and told the authentication scheme', async () => {
    const { gateway, camera } = await start();
    const other = await gateway.createCamera(await gateway.createLocation());
    const cases: Record<string, Record<string, string>> = {
      'no credentials': { Authorization: '' },
      'a wrong secret': basic(camera.id, `${camera.secret}x`),
      'no secret': basic(camera.id, ''),
      'the secret of another': basic(camera.id, other.secret),
      'an unknown id': basic(randomUUID(), camera.secret),
      'no colon': { Authorization: `Basic ${Buffer.from(camera.id).toString('base64')}` },
      'no base64': { Authorization: 'Basic ????' },
      "the administrator's token": { Authorization: `Bearer ${ADMIN_TOKEN}` },
      "the administrator's token as a secret": basic('admin', ADMIN_TOKEN),
      'the secret as a token': { Authorization: `Bearer ${camera.secret}` },
    };
    for (const [what, headers] of Object.entries(cases)) {
      const answer = await askToUpload(gateway, camera, { headers });
      expect([what, failure(answer)]).toEqual([what, '401 unauthenticated']);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="/);
    }
  });

  it('is refused for another device, existing or not', async () => {
    const { gateway, camera } = await start();
    const other = await gateway.createCamera(await gateway.createLocation());
    for (const id of [other.id, randomUUID(), 'no-uuid', '..%2f..']) {
      const answer = await gateway.call('POST', `/devices/${id}/footage`, {
        json: { type: 'video', contentType: 'video/mp4' },
        headers: basic(camera.id, camera.secret),
      });
      expect([id, failure(answer)]).toEqual([id, '403 forbidden']);
    }
  });

  it('is refused once its secret has been replaced', async () => {
    const { gateway, locationId, camera } = await start();
    await gateway.admin('POST', `/care-homes/${locationId}/devices/${camera.id}/secret`);
    expect(failure(await askToUpload(gateway, camera))).toBe('401 unauthenticated');
  });

  it('is told the faults of the body', async () => {
    const { gateway, camera } = await start();
    const cases: [unknown, string[]][] = [
      [{ type: 'image', contentType: 'image/png' }, ['type']],
      [{ type: 'video' }, ['contentType']],
      [{ type: 'video', contentType: 'audio/wav' }, ['contentType']],
      [{ type: 'audio', contentType: 'video/mp4' }, ['contentType']],
      [{ type: 'video', contentType: 'text/html' }, ['contentType']],
      [{ type: 'video', contentType: 'video/' }, ['contentType']],
      [{ type: 'video', contentType: 'video/..' }, ['contentType']],
      [{ type: 'video', contentType: 'video/mp4/x' }, ['contentType']],
      [{ type: 'video', contentType: ' video/mp4' }, ['contentType']],
      [{ type: 'video', contentType: 'video/mp4\r\nX-Evil: 1' }, ['contentType']],
      [{ type: 'video', contentType: 'video/mp4\n' }, ['contentType']],
      [{ type: 'video', contentType: `video/${'x'.repeat(65)}` }, ['contentType']],
      [{ type: 'video', contentType: 'video/mp4', key: 'mine' }, ['key']],
      [[], ['']],
    ];
    for (const [json, paths] of cases) {
      const answer = await askToUpload(gateway, camera, { json });
      expect([json, failure(answer)]).toEqual([json, '400 invalid-request']);
      expect([json, problemOf(answer).errors?.map(({ path }) => path)]).toEqual([json, paths]);
    }
    const text = { headers: { 'Content-Type': 'text/plain' } };
    expect(failure(await askToUpload(gateway, camera, text))).toBe('415 unsupported-media-type');
    const large = { json: { type: 'video', contentType: 'x'.repeat(5000) } };
    expect(failure(await askToUpload(gateway, camera, large))).toBe('413 body-too-large');
  });

  it('is accepted with its secret even after many wrong ones from its address', async () => {
    const { gateway, camera } = await start(await startGateway(redis, { hasStoppedClock: true }));
    const wrong = { headers: basic(camera.id, 'guess') };
    const head = [
      `POST /devices/${camera.id}/footage HTTP/1.1`,
      'Host: x',
      `Authorization: ${wrong.headers['Authorization']}`,
      'Content-Length: 0',
    ];
    const statuses = await statusesOf(gateway.port, head.join('\r\n'), 101);
    expect(statuses).toEqual(Array(101).fill(401));
    const refused = await askToUpload(gateway, camera, wrong);
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await askToUpload(gateway, camera)).status).toBe(201);
    gateway.aheadMs = 250;
    expect(failure(await askToUpload(gateway, camera, wrong))).toBe('401 unauthenticated');
  });
});

describe('the audit trail', () => {
  it('has an upload URL before the camera gets it', async () => {
    const { gateway, locationId, camera } = await start();
    const answers: Answer[] = [];
    // Records written in the background are not there yet.
    const records = await recordsOf(gateway, async () => {
      answers.push(await askToUpload(gateway, camera));
    });
    const [answer] = answers;
    const { key } = JSON.parse(answer?.text ?? '');
    expect(records).toEqual([
      {
        id: expect.any(String),
        action: 'footage.upload-url-made',
        actor: {
          type: 'device',
          id: camera.id,
          address: expect.stringContaining('127.0.0.1'),
          requestId: answer?.headers['x-request-id'],
        },
        at: expect.any(String),
        locationId,
        resourceId: camera.id,
        details: { key },
      },
    ]);
    expect(JSON.stringify(records)).not.toContain('signature');
  });

  it('records all URLs of a page of alarms together', async () => {
    const { gateway, locationId, camera } = await start();
    const ids = await alarmsWithFootage(gateway, camera);
    const records = await recordsOf(gateway, () =>
      gateway.admin('GET', `/care-homes/${locationId}/alarms?order=asc`),
    );
    const made = records.map(({ action, actor, resourceId, details }) => {
      return [action, actor.type, actor.id, resourceId, details];
    });
    const details = { keys: ids.map(({ key }) => key) };
    expect(made).toEqual([['footage.url-made', 'access-token', 'admin', camera.id, details]]);
  });

  it('finds the URLs of a page by each of its devices', async () => {
    const { gateway, locationId, camera } = await start();
    const other = await gateway.createCamera(locationId);
    await alarmsWithFootage(gateway, camera);
    await alarmsWithFootage(gateway, other);
    await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
    for (const [resource, found] of [
      [camera.id, 1],
      [other.id, 1],
      [locationId, 1],
      [camera.id.slice(0, -1), 0],
    ]) {
      const { json } = await gateway.admin(
        'GET',
        `/audit?actions=footage.url-made&resource=${resource}`,
      );
      expect(Object(json).events).toHaveLength(Number(found));
    }
  });

  it('blocks every URL when it cannot be written', async () => {
    const { gateway, locationId, camera } = await start(await startGateway(redis));
    const footage = { video: `${camera.id}/1.mp4` };
    await gateway.recordAlarm(camera.id, { kind: 'fall', footage });
    await fillStore(gateway);
    const asked = await askToUpload(gateway, camera);
    expect(failure(asked)).toBe('503 store-unavailable');
    expect(asked.headers['retry-after']).toMatch(/^\d+$/);
    const listed = await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
    expect(failure(listed)).toBe('503 store-unavailable');
    for (const { text } of [asked, listed]) expect(text).not.toMatch(/signature|\.mp4/);
  });

  it('records who was refused, and never the secret that was tried', async () => {
    const { gateway, camera } = await start(await startGateway(redis));
    const path = `/devices/${randomUUID()}/footage`;
    await askToUpload(gateway, camera, { headers: basic(camera.id, 'guessed-secret') });
    await gateway.call('POST', path, { headers: basic(camera.id, camera.secret) });
    const refusals = '/audit?actions=permission.refused,authentication.refused';
    await expect
      .poll(async () => (await gateway.admin('GET', refusals)).json)
      .toMatchObject({
        events: [
          { actor: { type: 'device', id: camera.id }, details: { method: 'POST', path } },
          { actor: { type: 'anonymous', id: null }, action: 'authentication.refused' },
        ],
      });
    const { text } = await gateway.admin('GET', refusals);
    for (const secret of ['guessed-secret', camera.secret]) expect(text).not.toContain(secret);
  });

  it('gets no record for a page without footage', async () => {
    const { gateway, locationId, camera } = await start(await startGateway(redis));
    await gateway.recordAlarm(camera.id, { kind: 'fall' });
    await fillStore(gateway);
    const listed = await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
    expect(listed.status).toBe(200);
    expect(listed.text).toContain('"footage":{"video":null,"audio":null}');
  });
});

async function alarmsWithFootage(gateway: TestGateway, { id }: Camera) {
  const keys = [`${id}/1.mp4`, `${id}/2.mp4`, `${id}/2.wav`];
  const [first, second, third] = keys;
  const one = await gateway.recordAlarm(id, { kind: 'fall', footage: { video: first } });
  await gateway.recordAlarm(id, { kind: 'noise' });
  const footage = { video: second, audio: third };
  const two = await gateway.recordAlarm(id, { kind: 'helpCall', footage });
  return [one, two, two].map((alarmId, index) => ({ alarmId, key: keys[index] }));
}

describe('URLs', () => {
  it('begin with the public URL when it is configured', async () => {
    const publicUrl = 'https://box.test/care/';
    const environment = { GATEWAY_HTTP_PUBLIC_URL: publicUrl };
    const { gateway, camera, locationId } = await start(await startGateway(redis, { environment }));
    const { uploadUrl, key } = await prepare(gateway, camera);
    expect(uploadUrl.startsWith(`https://box.test/care/footage/${key}?`)).toBe(true);
    await gateway.recordAlarm(camera.id, { kind: 'fall', footage: { video: key } });
    const { text } = await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
    expect(text).toContain(`"https://box.test/care/footage/${key}?`);
  });

  it('begin with the caller’s Host otherwise, whatever the X-Forwarded headers say', async () => {
    const { gateway, camera, locationId } = await start();
    const proxied = {
      Host: 'gateway.local:8080',
      'X-Forwarded-Host': 'evil.test',
      'X-Forwarded-Proto': 'https',
    };
    const headers = { ...basic(camera.id, camera.secret), ...proxied };
    const answer = await askToUpload(gateway, camera, { headers });
    expect(JSON.parse(answer.text).uploadUrl).toMatch(/^http:\/\/gateway\.local:8080\/footage\//);
    expect(answer.headers['cache-control']).toBe('no-store');
    await gateway.recordAlarm(camera.id, { kind: 'fall', footage: { video: `${camera.id}/1` } });
    const path = `/care-homes/${locationId}/alarms`;
    const listed = await gateway.admin('GET', path, { headers: proxied });
    expect(listed.text).toContain(`"http://gateway.local:8080/footage/${camera.id}/1?`);
    for (const host of ['evil.test/x?', 'a b', 'user@evil.test']) {
      const refused = await askToUpload(gateway, camera, { headers: { ...headers, Host: host } });
      expect([host, failure(refused)]).toEqual([host, '400 invalid-request']);
    }
  });
});
