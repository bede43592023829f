/**
 * Recordings: a camera announces one, uploads it to a signed URL, and names it in an alarm; whoever sees the alarm
 * gets a signed URL to play it. Both URLs are valid for ten minutes (specification, 8) and written down before they
 * are handed out (contract 2, "Audit and denials").
 */
import { randomUUID } from 'node:crypto';
import { announce, CONTENT, prepare, put, recorded, statusOf, urlOf } from '../harness/camera.js';
import {
  ADMIN_TOKEN,
  type Asking,
  askUrl,
  describe,
  each,
  expect,
  type Home,
  type Own,
  testWith,
} from '../harness/index.js';
import { S3Server } from '../harness/receivers.js';

const MAX_UPLOAD_BYTES = 2 * 1024 * 1024;

const test = testWith({
  env: {
    GATEWAY_LOG_LEVEL: 'debug',
    GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
    GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
  },
});

async function s3Home(own: Own, change: Record<string, string> = {}): Promise<Home> {
  const s3 = new S3Server();
  await s3.start();
  own.onEnd(() => s3.stop());
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3.options;
  const env = {
    GATEWAY_FOOTAGE_S3_ENDPOINT: endpoint,
    GATEWAY_FOOTAGE_S3_REGION: region,
    GATEWAY_FOOTAGE_S3_BUCKET: bucket,
    GATEWAY_FOOTAGE_S3_ACCESS_KEY_ID: accessKeyId,
    GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
  return own.home({ env: { ...env, ...change } });
}

/** The two stores that recordings can be in. */
describe.each(['the gateway’s own folder', 'an S3-compatible server'])('in %s', (store) => {
  const isS3 = store.includes('S3');
  const placeOf = (home: Home, own: Own) => (isS3 ? s3Home(own) : home);

  test('a recording is played as it was uploaded, whole or in part', async ({ home, own }) => {
    const place = await placeOf(home, own);
    const { url, device } = await recorded(place);
    const whole = await askUrl('GET', url);
    expect(whole.headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(CONTENT.length),
      'content-disposition': expect.stringMatching(/^inline/),
    });
    expect(whole.bytes.equals(CONTENT)).toBe(true);
    const ranges: readonly [range: string, first: number, last: number][] = [
      ['bytes=100000-149999', 100_000, 149_999],
      ['bytes=199000-999999', 199_000, 199_999],
    ];
    for (const [range, first, last] of ranges) {
      const { status, headers, bytes } = await askUrl('GET', url, { headers: { Range: range } });
      expect([status, headers['content-range']]).toEqual([206, `bytes ${first}-${last}/200000`]);
      expect(bytes.equals(CONTENT.subarray(first, last + 1))).toBe(true);
    }
    expect(await statusOf('GET', url, { Range: 'bytes=200000-' })).toBe(416);
    const { id } = device;
    for (const name of ['1.mp4', 'a/b/c/d.mp4', 'video/x.mp4']) {
      for (const key of [`${id}/${name}`, `devices/${id}/${name}`]) {
        expect([key, await statusOf('GET', await urlOf(place, device, key))]).toEqual([key, 404]);
      }
    }
  });

  /** Every way to alter a signed URL, one part at a time. */
  function alterations(url: string, key: string): Record<string, string> {
    const [device = '', , name = ''] = key.split('/');
    const other = `${randomUUID()}.mp4`;
    return {
      'another signature': url.replace(/.$/, url.endsWith('0') ? '1' : '0'),
      'no signature': url.replace(/signature=.*$/i, 'Signature='),
      'another device': url.replace(device, randomUUID()),
      'another recording': url.replace(name, other),
      'another type': url.replace('/video/', '/audio/'),
      'a longer life': url.replace(/(expires=)(\d)/i, '$19$2'),
      'one more level': url.replace(name, `../video/${other}`),
    };
  }

  test('a URL is for one recording, one method and one content type', async ({ home, own }) => {
    const place = await placeOf(home, own);
    const { url, device, key } = await recorded(place);
    for (const [what, altered] of Object.entries(alterations(url, key)))
      expect([what, await statusOf('GET', altered)]).toEqual([what, 403]);
    expect((await put(url)).status).toBe(403);
    const next = await prepare(place, device);
    for (const [what, altered] of Object.entries(alterations(next.uploadUrl, next.key)))
      expect([what, (await put(altered)).status]).toEqual([what, 403]);
    expect(await statusOf('GET', next.uploadUrl)).toBe(403);
    for (const contentType of ['text/html', 'video/webm', 'text/html; codecs="avc1"']) {
      const { status } = await put(next.uploadUrl, CONTENT, { 'Content-Type': contentType });
      expect([contentType, status]).toEqual([contentType, 403]);
    }
    expect(await statusOf('GET', await urlOf(place, device, next.key))).toBe(404);
    expect((await put(next.uploadUrl)).status).toBe(200);
  });

  test('a URL is valid for ten minutes', async ({ own }) => {
    const place = isS3 ? await s3Home(own) : await own.home();
    const { clock } = place.gateway;
    const { device, key } = await recorded(place);
    const aged = async (ms: number, make: () => Promise<string>): Promise<string> => {
      // The S3 server has a clock of its own.
      if (isS3) await clock.jump(-ms);
      const url = await make();
      await clock.jump(ms);
      return url;
    };
    const upload = async () => (await prepare(place, device)).uploadUrl;
    const download = () => urlOf(place, device, key);
    for (const [ageMs, status] of [
      [580_000, 200],
      [601_000, 403],
    ] as const) {
      expect(await statusOf('GET', await aged(ageMs, download))).toBe(status);
      expect((await put(await aged(ageMs, upload))).status).toBe(status);
    }
  });
});

test('an S3 server stores the recordings alone, and lets nothing act as its page', async ({
  own,
}) => {
  const home = await s3Home(own);
  const { device, key, url } = await recorded(home);
  const endpoint = home.gateway.variables['GATEWAY_FOOTAGE_S3_ENDPOINT'];
  expect(url).toContain(`${endpoint}/footage/${key}?`);
  expect((await home.ask('GET', `/footage/${key}`)).status).toBe(404);
  expect(home.gateway.lines.join('\n')).not.toContain('X-Amz');
  const { searchParams } = new URL(await urlOf(home, device, `${device.id}/page.html`));
  expect(searchParams.get('response-content-disposition')).toBe('attachment');
  const guessed = await s3Home(own, { GATEWAY_FOOTAGE_S3_SECRET_ACCESS_KEY: 'guessed' });
  const camera = await guessed.device();
  expect((await put((await prepare(guessed, camera)).uploadUrl)).status).toBe(403);
  expect(await statusOf('GET', await urlOf(guessed, camera, `${camera.id}/b/c`))).toBe(403);
});

describe('a camera that announces a recording', () => {
  const PATH = (id: string) => `/devices/${id}/footage`;

  test('gets a key under its own prefix, and a URL', async ({ home }) => {
    const device = await home.device();
    const answer = await announce(home, device);
    const { key, uploadUrl } = { key: answer.string('key'), uploadUrl: answer.string('uploadUrl') };
    expect(key).toMatch(new RegExp(`^${device.id}/video/[0-9a-f-]{36}\\.mp4$`));
    expect(uploadUrl.startsWith(`${home.gateway.httpUrl}/footage/${key}?`)).toBe(true);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await prepare(home, device)).key).not.toBe(key);
    // Its id and the scheme may be in upper or lower case.
    const id = device.id.toUpperCase();
    const basic = `bASIC ${Buffer.from(`${id}:${device.secret}`).toString('base64')}`;
    const json = { type: 'audio', contentType: 'Audio/Vnd.Wave+X' };
    const headers = { Authorization: basic };
    const other = await home.must('POST', PATH(id), { token: null, json, headers });
    expect(other.string('key')).toMatch(new RegExp(`^${device.id}/audio/.*\\.vnd\\.wave\\+x$`));
  });

  test('is refused with any other credential, and for any other device', async ({ home }) => {
    const [device, other] = [await home.device(), await home.device()];
    const as = (id: string, secret: string): Asking => ({ device: { id, secret } });
    const header = (Authorization: string): Asking => ({ token: null, headers: { Authorization } });
    const credentials: Readonly<Record<string, Asking>> = {
      'no credentials': { token: null },
      'a wrong secret': as(device.id, `${device.secret}x`),
      'no secret': as(device.id, ''),
      'the secret of another': as(device.id, other.secret),
      'an unknown id': as(randomUUID(), device.secret),
      'no colon': header(`Basic ${Buffer.from(device.id).toString('base64')}`),
      'no base64': header('Basic ????'),
      'the administrator’s token': { token: ADMIN_TOKEN },
      'the administrator’s token as a secret': as('admin', ADMIN_TOKEN),
      'the secret as a token': { token: device.secret },
    };
    const json = { type: 'video', contentType: 'video/mp4' };
    for (const [what, asking] of Object.entries(credentials)) {
      const answer = await home.ask('POST', PATH(device.id), { json, ...asking });
      expect([what, answer.outcome]).toEqual([what, '401 unauthenticated']);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="/);
    }
    for (const id of [other.id, randomUUID(), 'no-uuid', '..%2f..']) {
      const { outcome } = await home.ask('POST', PATH(id), { json, device });
      expect([id, outcome]).toEqual([id, '403 forbidden']);
    }
    await home.must('POST', `./devices/${device.id}/secret`);
    expect((await announce(home, device)).outcome).toBe('401 unauthenticated');
  });

  test('is refused when it guesses, and never with its secret', async ({ own }) => {
    const home = await own.home({ hasStoppedClock: true });
    const device = await home.device();
    const wrong = { device: { id: device.id, secret: 'guessed-secret' } };
    const outcomes = await each(
      [...Array(101)],
      async () => (await announce(home, device, wrong)).outcome,
    );
    expect(new Set(outcomes)).toEqual(new Set(['401 unauthenticated']));
    const refused = await announce(home, device, wrong);
    expect(refused.outcome).toBe('429 too-many-requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await prepare(home, device);
    const path = PATH(randomUUID());
    await home.ask('POST', path, { device, json: { type: 'video', contentType: 'video/mp4' } });
    // The administrator's token was made up by a person, and waits like a guess.
    await home.gateway.clock.advance(5_000);
    const audit = () =>
      home.must('GET', '/audit?actions=permission.refused,authentication.refused');
    await expect
      .poll(async () => (await audit()).list('events'))
      .toContainEqual(
        expect.objectContaining({
          actor: expect.objectContaining({ type: 'device', id: device.id }),
          details: expect.objectContaining({ method: 'POST', path }),
        }),
      );
    const { text } = await audit();
    for (const secret of ['guessed-secret', device.secret]) expect(text).not.toContain(secret);
  });

  const FAULTS: readonly [json: unknown, path: string][] = [
    [{ type: 'image', contentType: 'image/png' }, 'type'],
    [{ type: 'video' }, 'contentType'],
    ...['audio/wav', 'text/html', 'video/', 'video/..', 'video/mp4/x', ' video/mp4', 'video/mp4\n']
      .concat('video/mp4\r\nX-Evil: 1', `video/${'x'.repeat(65)}`)
      .map((contentType): [object, string] => [{ type: 'video', contentType }, 'contentType']),
    [{ type: 'audio', contentType: 'video/mp4' }, 'contentType'],
    [{ type: 'video', contentType: 'video/mp4', key: 'mine' }, 'key'],
    [[], ''],
  ];

  test('is told what is wrong with its announcement', async ({ home }) => {
    const device = await home.device();
    for (const [json, path] of FAULTS) {
      const { status, errors } = (await announce(home, device, { json })).problem;
      expect([json, status, errors?.map((one) => one.path)]).toEqual([json, 400, [path]]);
    }
    const text = await announce(home, device, { headers: { 'Content-Type': 'text/plain' } });
    expect(text.outcome).toBe('415 unsupported-media-type');
    const json = { type: 'video', contentType: 'x'.repeat(70_000) };
    expect((await announce(home, device, { json })).outcome).toBe('413 body-too-large');
  });
});

describe('the audit trail', () => {
  async function audit(home: Home, actions: string, resource = home.locationId) {
    const query = `actions=${actions}&resource=${resource}`;
    return (await home.must('GET', `/audit?${query}`)).list('events');
  }

  test('has each upload URL, and all URLs of a page together, found by each device', async ({
    home,
  }) => {
    const [device, other] = [await home.device(), await home.device()];
    const answer = await announce(home, device);
    const made = await audit(home, 'footage.upload-url-made', device.id);
    expect(made).toMatchObject([
      {
        actor: { type: 'device', id: device.id, requestId: answer.headers['x-request-id'] },
        locationId: home.locationId,
        resourceId: device.id,
        details: { key: answer.string('key') },
      },
    ]);
    expect(JSON.stringify(made)).not.toContain('signature');
    const keys = [`${device.id}/1.mp4`, `${device.id}/2.mp4`, `${device.id}/2.wav`];
    const [first, second, third] = keys;
    const page = async () => (await home.must('GET', './alarms?order=asc')).text;
    await home.record(
      device,
      { footage: { video: first } },
      {},
      { footage: { video: second, audio: third } },
    );
    await page();
    expect(await audit(home, 'footage.url-made', device.id)).toMatchObject([
      { actor: { type: 'access-token', id: 'admin' }, resourceId: device.id, details: { keys } },
    ]);
    await home.record(other, { footage: { video: `${other.id}/1.mp4` } });
    await page();
    for (const { id } of [device, other])
      expect((await audit(home, 'footage.url-made', id))[0]).toMatchObject({
        details: { keys: [...keys, `${other.id}/1.mp4`] },
      });
    // A list of what exists signs nothing.
    const listed = await home.must('GET', './alarms?order=asc&footage=list');
    expect(listed.list('events').map(({ footage }) => footage)).toEqual([
      ['video'],
      [],
      ['video', 'audio'],
      ['video'],
    ]);
    const [id] = await home.record(device, { footage: { audio: third } });
    expect((await home.must('GET', `./alarms/${id}?footage=list`)).at('footage')).toEqual([
      'audio',
    ]);
    expect(await audit(home, 'footage.url-made', device.id)).toHaveLength(2);
    const wrong = await home.ask('GET', './alarms?footage=urls');
    expect(wrong.outcome).toBe('400 invalid-request');
  });

  test('blocks every URL when it cannot be written, and no page without one', async ({ own }) => {
    const redis = await own.redis();
    const home = await own.home({ env: { GATEWAY_REDIS_URL: `unix://${redis.socketPath}` } });
    const [plain, device] = [await home.device(), await home.device()];
    await home.record(plain, {});
    await home.record(device, { footage: { video: `${device.id}/1.mp4` } });
    await redis.redis.config('SET', 'maxmemory', '1');
    const asked = [await announce(home, device), await home.ask('GET', './alarms')];
    for (const { outcome, headers, text } of asked) {
      expect([outcome, headers['retry-after']]).toEqual([
        '503 store-unavailable',
        expect.stringMatching(/^\d+$/),
      ]);
      expect(text).not.toMatch(/signature|\.mp4/);
    }
    const listed = await home.must('GET', `./alarms?device=${plain.id}`);
    expect(listed.list('events')).toMatchObject([{ footage: { video: null, audio: null } }]);
  });
});

test('URLs begin with the public URL, else with the Host that was asked', async ({ home, own }) => {
  const publicUrl = 'https://box.test/care/';
  const boxed = await own.home({ env: { GATEWAY_HTTP_PUBLIC_URL: publicUrl } });
  const camera = await boxed.device();
  const { uploadUrl, key } = await prepare(boxed, camera);
  expect(uploadUrl.startsWith(`https://box.test/care/footage/${key}?`)).toBe(true);
  expect(await urlOf(boxed, camera, key)).toMatch(/^https:\/\/box\.test\/care\/footage\//);
  const device = await home.device();
  const headers = {
    Host: 'gateway.local:8080',
    'X-Forwarded-Host': 'evil.test',
    'X-Forwarded-Proto': 'https',
  };
  const { text } = await announce(home, device, { headers });
  expect(text).toContain('"http://gateway.local:8080/footage/');
  await home.record(device, { footage: { video: `${device.id}/1` } });
  const listed = await home.must('GET', './alarms', { headers });
  expect(listed.text).toContain(`"http://gateway.local:8080/footage/${device.id}/1?`);
  for (const host of ['evil.test/x?', 'a b', 'user@evil.test']) {
    const { outcome } = await announce(home, device, { headers: { ...headers, Host: host } });
    expect([host, outcome]).toEqual([host, '400 invalid-request']);
  }
});

describe('a signed URL', () => {
  test('is valid exactly as issued, whatever token comes with it', async ({ home }) => {
    const { url, key } = await recorded(home);
    const [path = '', query = ''] = url.split('?');
    const [expires, signature] = query.split('&');
    const queries = [
      '',
      `${query}&`,
      `${query}&x=1`,
      `${query}&${expires}`,
      `${signature}&${expires}`,
      `${expires}0&${signature}`,
      `${expires}`,
      `${signature}`,
      `${query}%3D`,
      `${query}=`,
      query.replace('expires=', 'expires=0'),
      query.replace('expires=', 'expires=%2B'),
      query.replace('signature', 'Signature'),
    ];
    for (const altered of queries) {
      const { outcome } = await askUrl('GET', `${path}?${altered}`);
      expect([altered, outcome]).toEqual([altered, '403 forbidden']);
    }
    // Also where there is no recording.
    const missing = path.replace(key.slice(-10), 'aaaaaa.mp4');
    for (const method of ['GET', 'PUT'])
      expect((await askUrl(method, missing, { token: ADMIN_TOKEN })).outcome).toBe('403 forbidden');
    expect((await askUrl('GET', url, { token: 'nobody' })).status).toBe(200);
  });

  test('is never logged, and audited when it was altered, unlike a bare path', async ({ own }) => {
    const home = await own.home({ env: { GATEWAY_LOG_LEVEL: 'debug' } });
    const { url, uploadUrl, device } = await recorded(home);
    const [path = ''] = url.split('?');
    for (const method of ['GET', 'PUT']) {
      for (const query of ['', '?expires=1']) await askUrl(method, path + query);
    }
    await askUrl('GET', `${url}x`);
    await askUrl('GET', url);
    await put(uploadUrl);
    const refused = async () =>
      (await home.must('GET', '/audit?actions=permission.refused')).list('events');
    await expect.poll(refused).toMatchObject([{ actor: { type: 'anonymous' } }]);
    const log = home.gateway.lines.join('');
    expect(log).toContain('/footage/');
    const signatures = [url, uploadUrl].map((one) => new URL(one).searchParams.get('signature'));
    for (const secret of [...signatures, ADMIN_TOKEN, device.secret])
      expect(log).not.toContain(secret);
  });
});
