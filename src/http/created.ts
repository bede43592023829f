import type { Context } from 'hono';
import type { HttpEnv } from './http-env.js';

/**
 * The headers of a 201 (RFC 9110, 15.3.2): where the created resource is, below the collection that the
 * request was sent to. A reference without host, unless the configuration says how clients come here.
 */
export function createdHeaders(
  c: Context<HttpEnv>,
  id: string,
  publicUrl: string | undefined,
): { readonly Location: string } {
  return { Location: `${publicUrl ?? ''}${c.req.path}/${id}` };
}
