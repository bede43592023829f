import type { Context } from 'hono';
import type { Actor } from '../site/audit-trail.js';
import type { HttpEnv } from './http-env.js';

/** Who makes this request, as the audit trail names him; the one place that decides it. */
export function actorOf(c: Context<HttpEnv>): Actor {
  const id = c.get('caller')?.id ?? null;
  return {
    type: id === null ? 'anonymous' : 'access-token',
    id,
    address: addressOf(c) ?? null,
    requestId: c.get('requestId'),
  };
}

/** From where the request comes; undefined when the connection has ended already. */
export function addressOf(c: Context<HttpEnv>): string | undefined {
  return c.env.incoming.socket.remoteAddress;
}
