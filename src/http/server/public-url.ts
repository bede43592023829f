import type { Context } from 'hono';
import type { UrlReceiver } from '../../site/footage.js';
import { actorOf } from '../actor.js';
import type { HttpEnv } from '../http-env.js';

/**
 * The headers of a 201 (RFC 9110, 15.3.2): where the created resource is, below the collection that the
 * request was sent to. The reference has no host, unless the configuration says how clients get here.
 */
export function createdHeaders(
  c: Context<HttpEnv>,
  id: string,
  publicUrl: string | undefined,
): { readonly Location: string } {
  return { Location: `${publicUrl ?? ''}${c.req.path}/${id}` };
}

/**
 * The caller for whom footage URLs are made, and the origin of the URLs.
 *
 * The origin is the configured public URL, or scheme and Host of the request. A client that lies about Host
 * misleads only itself, as no response is cached. `X-Forwarded-…` is ignored: any client may send it.
 */
export function urlReceiver(c: Context<HttpEnv>, publicUrl: string | undefined): UrlReceiver {
  return { actor: actorOf(c), gatewayUrl: publicUrl ?? new URL(c.req.url).origin };
}
