/**
 * How the gateway says how it is (contract 2): whether it is ready, its faults in the reader's language, what an
 * administrator has to have seen, and the metrics.
 */
import {
  eventually,
  expect,
  type Gateway,
  must,
  NO_LIMITS,
  type Own,
  testWith,
} from '../harness/index.js';

const test = testWith({ env: NO_LIMITS });
const ACKNOWLEDGE = '/faults/store-lost-data/acknowledge';
const TIME = expect.stringMatching(/^\d{4}-.*Z$/);

/** A gateway that finds at its start that its store was emptied, and a network to its store. */
async function emptied(own: Own) {
  const redis = await own.redis();
  const proxy = await own.proxy(redis.socketPath);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const gateway = await own.gateway({ env: { ...NO_LIMITS, GATEWAY_REDIS_URL: url } });
  const home = await own.homeAt(gateway);
  await home.publish(await home.device(), 'alarms', '{"kind":"fall"}');
  await gateway.stop();
  await redis.redis.flushall();
  await gateway.start();
  return { gateway, proxy, home: await own.homeAt(gateway) };
}

async function gauge(gateway: Gateway, name: string): Promise<string | undefined> {
  const { text } = await must(gateway, 'GET', '/metrics', { token: null });
  return text.split('\n').find((line) => line.startsWith(`${name} `));
}

const LANGUAGES: readonly [wanted: string | undefined, language: 'de' | 'en'][] = [
  ['de', 'de'],
  ['fr, de-AT;q=0.8, en;q=0.5', 'de'],
  ['de;q=x,,;', 'de'],
  ['de;q=0, *', 'en'],
  ['fr', 'en'],
  ['', 'en'],
  [undefined, 'en'],
];

test('a fault stays until an administrator has seen it, in the language of its reader', async ({
  own,
}) => {
  const { gateway, home, proxy } = await emptied(own);
  const code = 'store-lost-data';
  // Strangers get no words.
  const ready = await home.ask('GET', '/readyz', { token: null });
  expect([ready.status, ready.json]).toEqual([
    200,
    {
      ready: true,
      version: '1.2.3',
      // A slow machine may have faults of its own.
      faults: expect.arrayContaining([{ code, stops: false, since: TIME }]),
    },
  ]);
  const { token } = await home.token([{ location: '*', role: 'viewer' }]);
  const texts = { en: 'The store has lost', de: 'Der Speicher hat verloren' };
  for (const [wanted, language] of LANGUAGES) {
    const headers = wanted === undefined ? {} : { 'Accept-Language': wanted };
    for (const path of ['/readyz', '/faults']) {
      const answer = await home.ask('GET', path, { token, headers });
      expect([wanted, answer.text]).toEqual([wanted, expect.stringContaining(texts[language])]);
      expect(answer.headers['content-language']).toBe(language);
      expect(answer.headers.vary).toContain('Accept-Language');
    }
  }
  expect((await home.must('GET', '/faults', { token })).json).toContainEqual({
    code,
    stops: false,
    since: TIME,
    message: expect.stringContaining(texts.en),
    advice: expect.stringContaining('acknowledge the fault'),
    acknowledgeable: true,
  });
  expect((await home.ask('GET', '/faults', { token: null })).status).toBe(401);
  expect(await gauge(gateway, `gateway_fault{code="${code}"}`)).toMatch(/ 1$/);

  // What cannot be recorded is not acknowledged.
  proxy.cut();
  expect((await home.ask('POST', ACKNOWLEDGE)).outcome).toBe('503 store-unavailable');
  proxy.mend();
  const [message] = await home.faults();
  expect(message).toContain(texts.en);
  await eventually(() => home.must('POST', ACKNOWLEDGE));
  // At once, however soon it is asked.
  expect((await gauge(gateway, `gateway_fault{code="${code}"}`)) ?? '0').toMatch(/0$/);
  expect(await home.faults()).not.toContain(message);
  const [record] = (await home.must('GET', '/audit?limit=1')).list('events');
  expect(record).toMatchObject({ action: 'fault.acknowledged', details: { message } });
  for (const other of [code, 'store-slow', 'nothing']) {
    const { outcome } = await home.ask('POST', `/faults/${other}/acknowledge`);
    expect([other, outcome]).toEqual([other, '404 fault-not-found']);
  }
});

test('without its store the gateway is alive, but not ready', async ({ own }) => {
  const redis = await own.redis();
  const proxy = await own.proxy(redis.socketPath);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const gateway = await own.gateway({ env: { ...NO_LIMITS, GATEWAY_REDIS_URL: url } });
  const home = await own.homeAt(gateway);
  const ready = () => home.ask('GET', '/readyz', { token: null });
  proxy.cut();
  await expect.poll(async () => (await ready()).status).toBe(503);
  const answer = await ready();
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(answer.json).toEqual({
    type: 'urn:problem-type:care-home-gateway:not-ready',
    title: 'Not ready',
    status: 503,
    detail: 'The gateway cannot do its whole work: see `faults`.',
    instance: '/readyz',
    code: 'not-ready',
    requestId: answer.headers['x-request-id'],
    ready: false,
    version: '1.2.3',
    faults: expect.arrayContaining([{ code: 'store-unreachable', stops: true, since: TIME }]),
  });
  expect(await home.faults()).toContainEqual(expect.stringMatching(/store/));
  const alive = await home.ask('GET', '/healthz', { token: null });
  expect([alive.status, alive.json]).toEqual([200, { status: 'ok' }]);
  // Monitoring asks for this: it is no failure of the gateway.
  expect(gateway.lines.filter((line) => /readyz.*"level":50|failed to answer/.test(line))).toEqual(
    [],
  );
  proxy.mend();
  await expect.poll(async () => (await ready()).status).toBe(200);
});

/** A page may direct a browser on this machine to the gateway, under a name of its own (DNS rebinding). */
const HOSTS: readonly [host: string, status: 200 | 401][] = [
  ['localhost', 200],
  ['LOCALHOST:8080', 200],
  ['127.0.0.1:8080', 200],
  ['127.1.2.3', 200],
  ['[::1]:8080', 200],
  ['attacker.example', 401],
  ['attacker.example:8080', 401],
  ['192.0.2.1', 401],
  ['localhost.attacker.example', 401],
];

test('metrics are open to this machine under its own names', async ({ home }) => {
  for (const [Host, status] of HOSTS) {
    const answer = await home.ask('GET', '/metrics', { token: null, headers: { Host } });
    expect([Host, answer.status]).toEqual([Host, status]);
  }
  const { headers, text } = await home.ask('GET', '/metrics', { token: null });
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(text).toMatch(/^gateway_faults \d+$/m);
});
