import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { type Answer, call, failure } from '../client.js';
import { startGateway, useGateway } from '../harness.js';

const redis = useRedis();
const ORIGIN = 'https://dashboard.example.org';
const running = useGateway(redis, {
  environment: { GATEWAY_HTTP_ALLOWED_ORIGINS: `["${ORIGIN}", "http://localhost:3000"]` },
});

const allowed = ({ headers }: Answer) => headers['access-control-allow-origin'];

describe('a web application of an allowed origin', () => {
  it('may call the interface with a token, and read its answers and errors', async () => {
    const gateway = running();
    for (const Origin of [ORIGIN, 'http://localhost:3000']) {
      const headers = { Origin };
      const homes = await gateway.admin('GET', '/care-homes', { headers });
      expect([homes.status, allowed(homes)]).toEqual([200, Origin]);
      expect(homes.headers['access-control-expose-headers']).toContain('ETag');
      expect(homes.headers.vary).toContain('Origin');
      const alarms = await gateway.admin('GET', '/alarms');
      expect(alarms.headers.vary).toBe('Origin, Accept');
      expect(homes.headers['access-control-allow-credentials']).toBeUndefined();
      const denied = await gateway.call('GET', '/care-homes', { headers });
      expect([failure(denied), allowed(denied)]).toEqual(['401 unauthenticated', Origin]);
      const unknown = await gateway.admin('GET', '/nowhere', { headers });
      expect([failure(unknown), allowed(unknown)]).toEqual(['404 not-found', Origin]);
    }
  });

  it('may read the answer that nothing has changed', async () => {
    const gateway = running();
    const path = `/care-homes/${await gateway.createLocation()}`;
    const headers = { Origin: ORIGIN };
    const { etag } = (await gateway.admin('GET', path, { headers })).headers;
    const again = { ...headers, 'If-None-Match': String(etag) };
    const unchanged = await gateway.admin('GET', path, { headers: again });
    expect([unchanged.status, allowed(unchanged)]).toEqual([304, ORIGIN]);
    expect(unchanged.headers['access-control-expose-headers']).toContain('ETag');
  });

  it('is told in the preflight what it may send', async () => {
    // A preflight is not a request of the interface, and so not in its description.
    const preflight = await call(running().port, 'OPTIONS', '/care-homes', {
      headers: {
        Origin: ORIGIN,
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers': 'authorization,if-match',
      },
    });
    expect([preflight.status, allowed(preflight)]).toEqual([204, ORIGIN]);
    expect(preflight.headers['access-control-allow-methods']).toContain('PATCH');
    const names = String(preflight.headers['access-control-allow-headers']).toLowerCase();
    for (const name of ['authorization', 'if-match', 'content-type']) expect(names).toContain(name);
  });
});

describe('a web application of any other origin', () => {
  it('gets no permission, and does not affect anybody else', async () => {
    const gateway = running();
    for (const Origin of ['https://dashboard.example.org.evil.test', 'null', `${ORIGIN}:444`]) {
      const headers = { Origin, 'Access-Control-Request-Method': 'GET' };
      expect(allowed(await gateway.admin('GET', '/care-homes', { headers }))).toBeUndefined();
      const preflight = await gateway.call('OPTIONS', '/care-homes', { headers });
      expect(allowed(preflight)).toBeUndefined();
      expect(preflight.headers.allow).toBe('GET, POST, HEAD, OPTIONS');
    }
    const plain = await gateway.admin('GET', '/care-homes');
    expect([plain.status, allowed(plain)]).toEqual([200, undefined]);
  });

  it('includes every origin by default', async () => {
    const gateway = await startGateway(redis);
    const answer = await gateway.admin('GET', '/care-homes', { headers: { Origin: ORIGIN } });
    expect([allowed(answer), answer.headers.vary]).toEqual([undefined, undefined]);
  });
});
