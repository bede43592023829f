import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { DescribedHttp, type Exchange } from '../../harness/described/described-http.js';
import { type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());

let compiled: DescribedHttp | undefined;

/** The document of the gateway, compiled only once because that is expensive. */
async function describedBy(gateway: TestGateway): Promise<DescribedHttp> {
  compiled ??= new DescribedHttp((await gateway.call('GET', '/openapi.json')).json);
  return compiled;
}

/** A real exchange with a gateway, and the document of that gateway. */
async function createdDevice() {
  const gateway = running();
  const described = await describedBy(gateway);
  const path = `/care-homes/${await gateway.createLocation()}/devices`;
  const sent = { name: 'Bett 1' };
  const { status, headers, text } = await gateway.admin('POST', path, { json: sent });
  const request = { mediaType: 'application/json', text: JSON.stringify(sent) };
  const exchange: Exchange = { method: 'POST', path, request, status, headers, text };
  return { described, exchange };
}

type Change = (exchange: Exchange) => Partial<Exchange>;

function withBody(text: string, json: object): string {
  return JSON.stringify({ ...JSON.parse(text), ...json });
}

describe('every answer in the tests is checked against the OpenAPI document, and fails', () => {
  it('unless it is as described', async () => {
    const { described, exchange } = await createdDevice();
    described.check(exchange);
  });

  it.each<[string, Change, string]>([
    ['with an undocumented status', () => ({ status: 202 }), 'createDevice does not answer 202'],
    [
      'with a field too many',
      ({ text }) => ({ text: withBody(text, { secretHash: 'x' }) }),
      'unevaluatedProperty',
    ],
    [
      'with a field too few',
      ({ text }) => ({ text: withBody(text, { createdAt: undefined }) }),
      "required property 'createdAt'",
    ],
    [
      'with a value of another type',
      ({ text }) => ({ text: withBody(text, { roomId: 7 }) }),
      '/roomId must be string,null',
    ],
    [
      'with a value of another format',
      ({ text }) => ({ text: withBody(text, { id: 'no uuid' }) }),
      '/id must match format "uuid"',
    ],
    [
      'with another content type',
      ({ headers }) => ({ headers: { ...headers, 'content-type': 'text/html' } }),
      'the content type text/html is not documented',
    ],
    [
      'without a request id',
      ({ headers }) => ({ headers: { ...headers, 'x-request-id': undefined } }),
      'the header x-request-id is missing',
    ],
    [
      'to what must not be sent',
      () => ({ request: { mediaType: 'application/json', text: '{"name":null}' } }),
      'the request/name must be string',
    ],
    ['on an unknown path', () => ({ path: '/somewhere' }), 'there is no such operation'],
    ['with an unknown method', () => ({ method: 'PUT' }), 'there is no such operation'],
  ])('%s', async (_name, change, fault) => {
    const { described, exchange } = await createdDevice();
    expect(() => described.check({ ...exchange, ...change(exchange) })).toThrow(fault);
  });

  it('when a problem that no route declares has another shape', async () => {
    const gateway = running();
    const described = await describedBy(gateway);
    const { status, headers, text } = await gateway.call('PUT', '/care-homes');
    const request = { mediaType: undefined, text: undefined };
    const exchange = { method: 'PUT', path: '/care-homes', request, status, headers, text };
    described.check(exchange);
    const unnamed = { ...exchange, text: withBody(text, { code: undefined }) };
    expect(() => described.check(unnamed)).toThrow("required property 'code'");
    const unallowed = { ...exchange, headers: { ...headers, allow: undefined } };
    expect(() => described.check(unallowed)).toThrow('the header allow is missing');
  });
});
