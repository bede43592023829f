import type { Context } from 'hono';
import type { UrlReceiver } from '../site/footage.js';
import { actorOf } from './actor.js';
import type { HttpEnv } from './http-env.js';

/**
 * Whom footage URLs are made for, and what they begin with: the configured public URL, or scheme and
 * Host of the request itself. Whoever lies about Host gets URLs that lead him elsewhere, and nobody
 * else does: no response is cached. `X-Forwarded-…` is not believed, for anybody may send it.
 */
export function urlReceiver(c: Context<HttpEnv>, publicUrl: string | undefined): UrlReceiver {
  const gatewayUrl = publicUrl ?? new URL(c.req.url).origin;
  return { actor: actorOf(c), gatewayUrl: gatewayUrl.replace(/\/+$/, '') };
}
