/**
 * The files of recordings: uploads, downloads, quotas, retention and the disk (contract 5, "Limits").
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { CONTENT, MP4, prepare, put, recorded, statusOf, urlOf } from '../harness/camera.js';
import {
  ADMIN_TOKEN,
  askUrl,
  describe,
  each,
  expect,
  type Home,
  type Own,
  rawAsk,
  type TestDevice,
  testWith,
} from '../harness/index.js';
import { Program, residentBytes } from '../harness/program.js';

const MAX_UPLOAD_BYTES = 2 * 1024 * 1024;

const test = testWith({
  env: {
    GATEWAY_LOG_LEVEL: 'debug',
    GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
    GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
  },
});

function folderOf({ gateway }: Home): string {
  return join(gateway.dataDir, 'footage');
}

/** The files of a device, or those that are being uploaded. */
function filesOf(home: Home, device?: TestDevice): string[] {
  const directory = join(folderOf(home), device?.id ?? '.uploads');
  try {
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Sends the first half of an upload and then nothing more. */
async function half(home: Home, uploadUrl: string): Promise<Socket> {
  const { pathname, search } = new URL(uploadUrl);
  const socket = connect({ port: home.gateway.httpPort, host: '127.0.0.1' });
  home.onClose(() => socket.destroy());
  const lines = [`PUT ${pathname}${search} HTTP/1.1`, 'Host: x', 'Content-Type: video/mp4'];
  socket.write([...lines, 'Content-Length: 200000', '', ''].join('\r\n'));
  socket.write(CONTENT.subarray(0, 100_000));
  return socket;
}

describe('an upload', () => {
  test('is in a file that only the gateway’s user can access', async ({ home }) => {
    const { key } = await recorded(home);
    const path = join(folderOf(home), key);
    const directories = [dirname(path), dirname(dirname(path)), folderOf(home)];
    const secret = join(home.gateway.dataDir, 'footage.key');
    const modes = [path, secret, ...directories].map(async (one) => (await stat(one)).mode & 0o777);
    expect(await Promise.all(modes)).toEqual([0o600, 0o600, 0o700, 0o700, 0o700]);
  });

  test('has the content type that was announced, without its parameters', async ({ home }) => {
    const device = await home.device();
    const video = await prepare(home, device, {
      json: { type: 'video', contentType: 'video/mp4;codecs="avc1.42E01E, mp4a.40.2"' },
    });
    const sent = { 'Content-Type': 'Video/mp4; codecs=avc1' };
    expect((await put(video.uploadUrl, CONTENT, sent)).outcome).toBe('200');
    const audio = await prepare(home, device, {
      json: { type: 'audio', contentType: 'audio/wav' },
    });
    const { pathname, search } = new URL(audio.uploadUrl);
    const head = [`PUT ${pathname}${search} HTTP/1.1`, 'Host: x', 'Connection: close'];
    const bytes = [...head, 'Content-Length: 2', '', 'ab'].join('\r\n');
    expect((await rawAsk(home.gateway, bytes)).outcome).toBe('200');
    for (const [{ key }, type] of [
      [video, 'video/mp4'],
      [audio, 'audio/wav'],
    ] as const) {
      const { headers } = await askUrl('GET', await urlOf(home, device, key));
      expect(headers['content-type']).toBe(type);
    }
  });

  test('is accepted once, even when several arrive at the same time', async ({ home }) => {
    const device = await home.device();
    const { key, uploadUrl } = await prepare(home, device);
    // Not more than a device may send at a time.
    const contents = Array.from({ length: 4 }, () => randomBytes(500_000));
    const answers = await each(contents, (content) => put(uploadUrl, content));
    const outcomes = answers.map(({ outcome }) => outcome);
    const refused = Array(3).fill('409 footage-already-uploaded');
    expect(outcomes.toSorted()).toEqual(['200', ...refused]);
    expect((await put(uploadUrl)).outcome).toBe('409 footage-already-uploaded');
    const { bytes } = await askUrl('GET', await urlOf(home, device, key));
    expect(contents[outcomes.indexOf('200')]?.equals(bytes)).toBe(true);
    expect(filesOf(home, device)).toHaveLength(1);
    expect(filesOf(home)).toEqual([]);
  });

  test('that breaks off leaves nothing, and can be repeated', async ({ home }) => {
    const device = await home.device();
    const { key, uploadUrl } = await prepare(home, device);
    const socket = await half(home, uploadUrl);
    await expect.poll(() => filesOf(home)).toHaveLength(1);
    const url = await urlOf(home, device, key);
    expect(await statusOf('GET', url)).toBe(404);
    socket.resetAndDestroy();
    await expect.poll(() => filesOf(home)).toEqual([]);
    await home.gateway.logged(/"PUT".*"status":400/);
    expect((await put(uploadUrl)).outcome).toBe('200');
    expect(await statusOf('GET', url)).toBe(200);
  });

  test('need not wait for another to the same URL that has stalled', async ({ home }) => {
    const { uploadUrl } = await prepare(home, await home.device());
    const socket = await half(home, uploadUrl);
    await expect.poll(() => filesOf(home)).toHaveLength(1);
    expect((await put(uploadUrl)).outcome).toBe('200');
    const answer = once(socket, 'data');
    socket.write(CONTENT.subarray(100_000));
    expect(String(await answer)).toContain('footage-already-uploaded');
    await expect.poll(() => filesOf(home)).toEqual([]);
  });

  test('is refused while its device has four in progress', async ({ home }) => {
    const [device, other] = [await home.device(), await home.device()];
    const sockets: Socket[] = [];
    for (let one = 0; one < 4; one++)
      sockets.push(await half(home, (await prepare(home, device)).uploadUrl));
    await expect.poll(() => filesOf(home)).toHaveLength(4);
    const { uploadUrl } = await prepare(home, device);
    const refused = await put(uploadUrl);
    expect(refused.outcome).toBe('429 too-many-requests');
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await put((await prepare(home, other)).uploadUrl)).outcome).toBe('200');
    for (const socket of sockets) socket.resetAndDestroy();
    await expect.poll(() => filesOf(home)).toEqual([]);
    expect((await put(uploadUrl)).outcome).toBe('200');
  });

  test('is refused for what it is, and leaves nothing', async ({ home }) => {
    const device = await home.device();
    const tooLarge = Buffer.alloc(MAX_UPLOAD_BYTES + 1, 1);
    const rows: readonly [outcome: string, headers: Record<string, string>, body?: Buffer][] = [
      ['413 body-too-large', {}, tooLarge],
      ['413 body-too-large', { 'Transfer-Encoding': 'chunked' }, tooLarge],
      ['415 unsupported-media-type', { 'Content-Encoding': 'gzip' }],
      ['400 invalid-request', { 'Content-Range': 'bytes 0-199999/300000' }],
    ];
    const { uploadUrl } = await prepare(home, device);
    for (const [outcome, headers, body] of rows)
      expect([(await put(uploadUrl, body, headers)).outcome, headers]).toEqual([outcome, headers]);
    // Before it is sent, when it announces too much.
    const { pathname, search } = new URL(uploadUrl);
    const length = `Content-Length: ${MAX_UPLOAD_BYTES + 1}`;
    const head = [
      `PUT ${pathname}${search} HTTP/1.1`,
      'Host: x',
      'Content-Type: video/mp4',
      length,
    ];
    const answer = await rawAsk(home.gateway, [...head, '', ''].join('\r\n'));
    expect(answer.outcome).toBe('413 body-too-large');
    expect(filesOf(home, device)).toEqual([]);
    expect((await put(uploadUrl, tooLarge.subarray(1))).outcome).toBe('200');
    const { uploadUrl: late } = await prepare(home, device);
    await home.must('DELETE', `./devices/${device.id}`);
    expect((await put(late)).outcome).toBe('404 footage-not-found');
    expect(filesOf(home)).toEqual([]);
  });
});

describe('a download', () => {
  test('opens in the browser, and cannot act as a page of the gateway', async ({ home }) => {
    const { key, url } = await recorded(home, Buffer.from('<script>alert(1)</script>'));
    const get = await askUrl('GET', url);
    expect(get.headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-disposition': `inline; filename="${key.split('/')[2]}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
      'cache-control': 'no-store',
      'accept-ranges': 'bytes',
    });
    const head = await askUrl('HEAD', url, { headers: { Range: 'bytes=10-19' } });
    const own = { date: '', 'x-request-id': '', connection: '' };
    expect([head.status, head.text]).toEqual([200, '']);
    expect({ ...head.headers, ...own }).toEqual({ ...get.headers, ...own });
  });

  /** The bytes that come, the whole recording, or none. */
  const RANGES: readonly [range: string, bytes: readonly [number, number] | 'all' | 'none'][] = [
    ['bytes=0-0', [0, 0]],
    ['bytes=-1', [199_999, 199_999]],
    ['bytes=-999999', [0, 199_999]],
    ['bytes=65535-65536', [65_535, 65_536]],
    ['BYTES=5-', [5, 199_999]],
    ...[
      'bytes=1-0',
      'bytes=a-b',
      'bytes=-',
      'bytes',
      'items=0-1',
      'bytes=0-1,5-9',
      'bytes=--1',
    ].map((range): [string, 'all'] => [range, 'all']),
    ...['bytes=200000-', 'bytes=-0', 'bytes=99999999999999999999-'].map(
      (range): [string, 'none'] => [range, 'none'],
    ),
  ];

  test('has the range that was asked for, or the whole recording', async ({ home }) => {
    const { url } = await recorded(home);
    for (const [range, expected] of RANGES) {
      const answer = await askUrl('GET', url, { headers: { Range: range } });
      const { status, headers, bytes } = answer;
      if (expected === 'none') {
        expect([range, answer.outcome]).toEqual([range, '416 range-not-satisfiable']);
        expect(headers['content-range']).toBe('bytes */200000');
      } else if (expected === 'all') {
        expect([range, status, bytes.length]).toEqual([range, 200, CONTENT.length]);
      } else {
        const [first, last] = expected;
        expect([range, status]).toEqual([range, 206]);
        expect(headers['content-range']).toBe(`bytes ${first}-${last}/200000`);
        expect(bytes.equals(CONTENT.subarray(first, last + 1))).toBe(true);
      }
    }
    const { url: empty } = await recorded(home, Buffer.alloc(0));
    expect((await askUrl('GET', empty)).headers['content-length']).toBe('0');
    expect(await statusOf('GET', empty, { Range: 'bytes=0-' })).toBe(416);
  });

  /** Begins a download and reads no more of it than comes at once. */
  async function begin(home: Home, url: string): Promise<Socket> {
    const { pathname, search } = new URL(url);
    const socket = connect({ port: home.gateway.httpPort, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'readable');
    return socket;
  }

  test('ends when the recording becomes shorter, or its client breaks off', async ({ own }) => {
    const bytes = 10 * 1024 * 1024;
    const home = await own.home();
    const { key, url } = await recorded(home, randomBytes(bytes));
    const openFiles = () =>
      readdirSync('/proc/self/fd').filter((descriptor) => {
        try {
          return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folderOf(home));
        } catch {
          // It is closed by now, like the one of the listing itself.
          return false;
        }
      }).length;
    for (let count = 0; count < 3; count++) {
      const socket = await begin(home, url);
      expect(openFiles()).toBeGreaterThan(0);
      socket.destroy();
      await expect.poll(openFiles).toBe(0);
    }
    const socket = await begin(home, url);
    await truncate(join(folderOf(home), key), 1);
    const ended = once(socket, 'close');
    socket.resume();
    await ended;
    expect(socket.bytesRead).toBeLessThan(bytes);
    await expect.poll(openFiles).toBe(0);
  });

  test('never reaches a file outside the folder', async ({ own }) => {
    const home = await own.home();
    const { device, url } = await recorded(home);
    await writeFile(join(home.gateway.dataDir, 'admin.token'), ADMIN_TOKEN);
    const { search } = new URL(url);
    const names = [
      '..',
      '%2e%2e',
      '..%2f..%2fadmin.token',
      '..\\..\\admin.token',
      '%00',
      '.uploads',
    ];
    const paths = [
      ...names.map((name) => `/footage/${device.id}/video/${name}`),
      ...names.map((name) => `/footage/${name}/${name}/admin.token`),
      '/footage/../admin.token',
      '/footage//etc/passwd',
      '/footage/%2e%2e/admin.token',
      `/footage/${device.id}`,
      '/footage',
      '/footage/',
    ];
    for (const path of paths) {
      for (const method of ['GET', 'PUT', 'HEAD']) {
        for (const query of ['', search]) {
          const { status, text } = await home.ask(method, path + query);
          expect([method, path, [400, 403, 404, 405].includes(status)]).toEqual([
            method,
            path,
            true,
          ]);
          expect(text).not.toContain(ADMIN_TOKEN);
        }
      }
    }
    for (const name of ['../../admin.token', 'video/..', '//x', 'a//b']) {
      const [id] = await home.record(device, { footage: { video: `${device.id}/${name}` } });
      const alarm = await home.ask('GET', `./alarms/${id}`);
      // An alarm may not name it, or it leads nowhere.
      const video = alarm.status === 200 ? alarm.at('footage.video') : null;
      if (typeof video === 'string')
        expect([name, await statusOf('GET', video)]).toEqual([name, 404]);
    }
  });
});

const KIB = 1024;

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= 64 * KIB) yield new Uint8Array(Math.min(left, 64 * KIB));
}

/** Uploads pieces as they come, with their length if it is announced. Resolves to the status. */
async function send(url: string, body: AsyncIterable<Uint8Array>, announced?: number) {
  const length = announced === undefined ? {} : { 'Content-Length': announced };
  const sent = request(url, { method: 'PUT', headers: { ...MP4, ...length } });
  const answered = once(sent, 'response');
  // The gateway hangs up on an upload that it does not take.
  sent.on('error', () => undefined);
  Readable.from(body).pipe(sent);
  const [response] = await answered;
  return Number(response.resume().statusCode);
}

async function upload(home: Home, device: TestDevice, bytes: number, announced?: number) {
  return send((await prepare(home, device)).uploadUrl, pieces(bytes), announced);
}

describe('the recordings of one device', () => {
  const env = { GATEWAY_LIMITS_DEVICE_FOOTAGE_BYTES: String(300 * KIB) };

  test('are limited, and their device named, without affecting others', async ({ own }) => {
    const home = await own.home({ env });
    for (const isAnnounced of [false, true]) {
      const [greedy, honest] = [await home.device(), await home.device()];
      const kib = (device: TestDevice, count: number) =>
        upload(home, device, count * KIB, isAnnounced ? count * KIB : undefined);
      expect(await kib(greedy, 200)).toBe(200);
      expect(await kib(greedy, 200)).toBe(507);
      expect(await kib(greedy, 90)).toBe(200);
      const named = expect.stringMatching(`Too many recordings.*${greedy.id}`);
      await expect.poll(() => home.faults()).toContainEqual(named);
      expect(await kib(honest, 200)).toBe(200);
    }
    const device = await home.device();
    const statuses = await each([1, 2, 3, 4], () => upload(home, device, 120 * KIB));
    const stored = statuses.filter((status) => status === 200).length;
    expect(stored).toBeLessThanOrEqual(2);
    expect(statuses.filter((status) => status === 507)).toHaveLength(4 - stored);
  });

  test('still count after a restart, and are deleted with their device', async ({ own }) => {
    const home = await own.home({ env });
    const device = await home.device();
    expect(await upload(home, device, 200 * KIB)).toBe(200);
    await home.gateway.restart();
    expect(await upload(home, device, 200 * KIB)).toBe(507);
    expect(filesOf(home, device)).toHaveLength(1);
    await home.must('DELETE', `./devices/${device.id}`);
    const folder = join(folderOf(home), device.id);
    await expect.poll(() => existsSync(folder)).toBe(false);
    const json = { name: 'the same again', id: device.id };
    const secret = (await home.must('POST', './devices', { json })).string('secret');
    const again = { ...device, secret };
    expect(await upload(home, again, 200 * KIB)).toBe(200);
    // Also while one arrives.
    let finish = (): void => undefined;
    const deleted = new Promise<void>((resolve) => {
      finish = resolve;
    });
    async function* slow() {
      yield new Uint8Array(KIB);
      await deleted;
      yield new Uint8Array(KIB);
    }
    const sending = send((await prepare(home, again)).uploadUrl, slow());
    await expect.poll(() => filesOf(home)).toHaveLength(1);
    await home.must('DELETE', `./devices/${device.id}`);
    await expect.poll(() => existsSync(folder)).toBe(false);
    finish();
    expect(await sending).toBeGreaterThanOrEqual(400);
    expect(existsSync(folder)).toBe(false);
  });
});

describe('a disk', () => {
  /** A directory on a small disk of its own; undefined where mounting is not permitted. */
  async function smallDisk(own: Own, mebibytes: number): Promise<string | undefined> {
    const disk = own.directory();
    const mount = Program.run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', disk]);
    if ((await mount.exit()) !== 0) return undefined;
    own.onEnd(() => Program.run('umount', ['--lazy', disk]).exit());
    return join(disk, 'data');
  }

  const MIB = KIB * KIB;
  /** What may happen to uploads one after another, on a disk of 32 MiB with this reserve. */
  const UPLOADS: readonly (readonly [
    sent: number,
    announced: number | undefined,
    status: number,
  ])[][] = [
    [
      [4, undefined, 200],
      [18, 18, 507],
      [18, undefined, 507],
      [3, 3, 200],
    ],
    [
      [40, undefined, 507],
      [2, 2, 200],
    ],
  ];

  test.for([16, 0])(
    'with a reserve of %i MiB takes no upload beyond it',
    async (reserve, { own, skip }) => {
      const dataDir = await smallDisk(own, 32);
      if (dataDir === undefined) return skip('mounting a small disk is not permitted here');
      mkdirSync(dataDir);
      const env = { GATEWAY_FOOTAGE_MIN_FREE_BYTES: String(reserve * MIB) };
      const home = await own.home({ dataDir, env });
      const device = await home.device();
      for (const [sent, announced, status] of UPLOADS[reserve === 0 ? 1 : 0] ?? []) {
        const bytes = announced === undefined ? undefined : announced * MIB;
        expect([sent, await upload(home, device, sent * MIB, bytes)]).toEqual([sent, status]);
        expect(filesOf(home)).toEqual([]);
      }
      expect(filesOf(home, device)).toHaveLength(reserve === 0 ? 1 : 2);
      // An upload that finds no room is not lost in silence.
      const named = expect.stringMatching(`Too many recordings.*${device.id}`);
      await expect.poll(() => home.faults()).toContainEqual(named);
    },
  );

  test('without a writable folder and key loses recordings, but no alarm', async ({ own }) => {
    const gateway = await own.gatewayOff();
    writeFileSync(join(gateway.dataDir, 'footage'), 'in the way');
    mkdirSync(join(gateway.dataDir, 'footage.key.new'));
    await gateway.start();
    const home = await own.homeAt(gateway);
    const device = await home.device();
    const { key, uploadUrl } = await prepare(home, device);
    expect((await put(uploadUrl)).outcome).toBe('503 store-unavailable');
    expect((await askUrl('GET', await urlOf(home, device, key))).outcome).toBe(
      '404 footage-not-found',
    );
    await gateway.logged(/"level":50.*failed to prepare the folder for recordings/);
    await gateway.logged(/"level":50.*failed to keep a secret/);
  });
});

test('a restart keeps recordings and URLs, unless the key is removed', async ({ own }) => {
  const home = await own.home();
  const { device, key, url } = await recorded(home);
  const { uploadUrl } = await prepare(home, device);
  await home.gateway.restart();
  expect((await askUrl('GET', url)).bytes.equals(CONTENT)).toBe(true);
  expect((await put(uploadUrl)).outcome).toBe('200');
  await home.gateway.stop();
  rmSync(join(home.gateway.dataDir, 'footage.key'));
  await home.gateway.start();
  expect((await askUrl('GET', url)).outcome).toBe('403 forbidden');
  expect((await askUrl('GET', await urlOf(home, device, key))).status).toBe(200);
});

test('a start removes recordings older than the history, halves of uploads, and nothing else', async ({
  own,
}) => {
  const gateway = await own.gatewayOff();
  const folder = join(gateway.dataDir, 'footage');
  const DAY_MS = 24 * 3_600_000;
  const one = randomUUID();
  const files: readonly [path: string, ageDays: number, isKept: boolean][] = [
    [`${one}/video/${randomUUID()}.mp4`, 366, false],
    [`${one}/audio/${randomUUID()}.wav`, 400, false],
    [`${one}/video/${randomUUID()}.mp4`, 364, true],
    [`${one}/audio/${randomUUID()}.wav`, -1, true],
    // In the way of the directories of a device; the others are looked at nevertheless.
    [`${randomUUID()}/video`, 400, true],
    [`../outside/video/${randomUUID()}.mp4`, 400, true],
    ['.uploads/draft', 0, false],
  ];
  for (const [path, ageDays] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), 'a recording');
    const seconds = Math.max(0, Date.now() - ageDays * DAY_MS) / 1_000;
    utimesSync(join(folder, path), seconds, seconds);
  }
  await symlink(join(gateway.dataDir, 'outside'), join(folder, randomUUID()));
  await gateway.start();
  const kept = () => files.map(([path]) => [path, existsSync(join(folder, path))]);
  await expect.poll(kept).toEqual(files.map(([path, , isKept]) => [path, isKept]));
  await gateway.logged('removed old recordings');
});

test('transfers delay no alarm, and take constant memory', { timeout: 60_000 }, async ({ own }) => {
  const home = await own.home({ kind: 'process' });
  const sensor = await home.sensor();
  const nurse = await home.nurse();
  const { device } = sensor;
  const bytes = 30 * KIB * KIB;
  const { key, uploadUrl } = await prepare(home, device);
  expect(await send(uploadUrl, pieces(bytes), bytes)).toBe(200);
  const url = await urlOf(home, device, key);
  const before = await residentBytes(home.gateway.processId);
  let isBusy = true;
  const download = async () => {
    const [response] = await once(request(url).end(), 'response');
    for await (const chunk of response) expect(chunk.length).toBeGreaterThan(0);
  };
  const [one, two] = [await prepare(home, device), await prepare(home, device)];
  const uploads = [one, two].map((next) => send(next.uploadUrl, pieces(bytes), bytes));
  const traffic = Promise.all([...uploads, download(), download()]).finally(() => {
    isBusy = false;
  });
  let alarms = 0;
  let most = 0;
  for (; isBusy; alarms++) {
    const alarm = sensor.alarm({ kind: 'noise' });
    await nurse.until(alarm);
    most = Math.max(most, await residentBytes(home.gateway.processId));
  }
  expect((await traffic).slice(0, 2)).toEqual([200, 200]);
  expect(alarms).toBeGreaterThan(10);
  expect(most - before).toBeLessThan(100 * KIB * KIB);
});
