import { expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { type Answer, problemOf, rawExchange } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());
const JSON_TYPE = { 'Content-Type': 'application/json' };

async function start() {
  const gateway = running();
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  return { gateway, device: `/care-homes/${locationId}/devices/${deviceId}` };
}

/** The errors of a 400, with its code and detail. */
function faultsOf(answer: Answer): { code: string; detail: string; errors: unknown } {
  const { status, code, detail, errors } = problemOf(answer);
  expect(status).toBe(400);
  return { code, detail, errors };
}

/** A 400 whose only error is the request as a whole. */
function wholeRequest(code: string, detail: string) {
  return { code, detail, errors: [{ path: '', message: detail }] };
}

/** Bodies that no route takes. */
const NO_JSON: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  'not JSON': 'name=x',
  'a byte order mark': '\ufeff{"name":"x"}',
  'not UTF-8': Buffer.from('{"name":"\xff"}', 'latin1'),
};

it.each(Object.entries(NO_JSON))('errors names a body that is %s', async (_, body) => {
  const { gateway } = await start();
  const answer = await gateway.admin('POST', '/care-homes', { body, headers: JSON_TYPE });
  const without = body.toString().startsWith('\ufeff') ? ', without a byte order mark' : '';
  const detail = `The body must be JSON in UTF-8${without}.`;
  expect(faultsOf(answer)).toEqual(wholeRequest('invalid-request', detail));
});

it('errors names the faults of custom data', async () => {
  const { gateway, device } = await start();
  const patch = (body: string | Buffer, type = 'application/json') =>
    gateway.admin('PATCH', `${device}/custom-data`, { body, headers: { 'Content-Type': type } });
  const large = JSON.stringify({ a: 'x'.repeat(900) });
  expect((await patch(large)).status).toBe(200);
  const answers = [
    ...(await Promise.all(['', '[]', `{"a":"${'x'.repeat(1024)}"}`].map((body) => patch(body)))),
    await patch(Buffer.from('"\xff"', 'latin1')),
    await patch(`{"b":"${'x'.repeat(200)}"}`, 'application/merge-patch+json'),
  ];
  const details = answers.map((answer) => {
    const { detail, ...rest } = faultsOf(answer);
    expect({ detail, ...rest }).toEqual(wholeRequest('invalid-custom-data', detail));
    return detail;
  });
  expect(details).toEqual([
    'Custom data must be valid JSON.',
    'Custom data must be a JSON object.',
    'Custom data must not exceed 1024 bytes.',
    'Custom data must be UTF-8.',
    expect.stringContaining('1024 bytes'),
  ]);
});

it('errors names an invalid cursor', async () => {
  const { gateway, device } = await start();
  for (const listing of ['/audit', `${device}/alarms`]) {
    expect(faultsOf(await gateway.admin('GET', `${listing}?cursor=x`))).toEqual({
      code: 'invalid-cursor',
      detail: 'The cursor does not belong to this query.',
      errors: [{ path: 'cursor', message: 'does not belong to this query' }],
    });
  }
});

it('errors is present for a badly encoded path or query', async () => {
  const { gateway, device } = await start();
  for (const path of ['/care-homes/%ff', '/care-homes/%', `${device}/alarms?kinds=%c3`]) {
    expect([path, faultsOf(await gateway.admin('GET', path))]).toEqual([
      path,
      wholeRequest('invalid-request', 'The path or query is not well encoded.'),
    ]);
  }
});

const UNREADABLE: readonly [what: string, head: string, detail: string][] = [
  ['no Host', 'GET /healthz HTTP/1.1', 'One Host header is required.'],
  ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b', 'One Host header is required.'],
  [
    'an invalid Host',
    'GET /healthz HTTP/1.1\r\nHost: [',
    'The request target or Host is malformed.',
  ],
  ['no HTTP', 'HELLO', 'This is not a well-formed HTTP request.'],
];

it.each(UNREADABLE)('errors is present for a request with %s', async (_, head, detail) => {
  const { gateway } = await start();
  const answer = await rawExchange(gateway.port, `${head}\r\nConnection: close\r\n\r\n`);
  expect(faultsOf(answer)).toEqual(wholeRequest('invalid-request', detail));
});

it('errors names each invalid id, parameter and field', async () => {
  const { gateway, device } = await start();
  const pathsOf = async (call: ReturnType<TestGateway['call']>) =>
    problemOf(await call).errors?.map(({ path }) => path);
  expect(await pathsOf(gateway.admin('GET', '/care-homes/x/devices/y'))).toEqual([
    'locationId',
    'deviceId',
  ]);
  expect(await pathsOf(gateway.admin('GET', `${device}/alarms?limit=0&order=up`))).toEqual([
    'order',
    'limit',
  ]);
  expect(await pathsOf(gateway.admin('GET', '/audit?nonsense=1'))).toEqual(['nonsense']);
  expect(await pathsOf(gateway.admin('PATCH', device, { json: { name: '' } }))).toEqual(['name']);
});

it('errors is absent from all other problems', async () => {
  const { gateway, device } = await start();
  const answers = [
    await gateway.call('GET', '/care-homes'),
    await gateway.admin('GET', `${device}x/nothing`),
    await gateway.admin('PUT', device),
    await gateway.admin('POST', '/care-homes', { body: 'x', headers: { 'Content-Type': 'a/b' } }),
  ];
  expect(answers.map((answer) => [answer.status, problemOf(answer).errors])).toEqual(
    [401, 404, 405, 415].map((status) => [status, undefined]),
  );
});
