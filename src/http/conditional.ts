import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { etag } from 'hono/etag';
import { GatewayError } from '../errors.js';
import type { Actor } from '../site/audit-trail.js';
import { actorOf } from './actor.js';
import type { HttpEnv } from './http-env.js';

const DIGEST_BYTES = 12;
/** Divides what a change can be made of from what changes by itself; no digest has it. */
const PART_END = '.';
const WHOLE_TAG = /"[^"]*"/g;

/** Answers 304 to an `If-None-Match` that names the entity tag which the handler has set (RFC 9110, 13.1.2). */
export const notModifiedIfKnown = etag({
  retainedHeaders: ['cache-control', 'etag', 'vary', 'x-request-id', 'x-content-type-options'],
});

/**
 * The strong entity tag of a representation (RFC 9110, 8.8.3).
 *
 * @param state what of it changes by itself: an `If-Match` does not look at it
 */
export function entityTag(representation: unknown, state?: unknown): string {
  const parts = state === undefined ? [representation] : [representation, state];
  return `"${parts.map(digest).join(PART_END)}"`;
}

/** Gives the answer the entity tag of what it shows. */
export function tagged<View>(c: Context<HttpEnv>, view: View, tag = entityTag(view)): View {
  c.header('ETag', tag);
  return view;
}

/**
 * The actor of this request, who changes only what its `If-Match` names (RFC 9110, 13.1.1).
 *
 * @param tagNow the entity tag at the moment of the change
 */
export function conditionalActor(c: Context<HttpEnv>, tagNow: () => string): Actor {
  const wanted = c.req.header('If-Match');
  if (wanted === undefined) return actorOf(c);
  const precondition = () => {
    if (wanted.trim() !== '*' && !namesLike(wanted, tagNow())) {
      throw new GatewayError('precondition-failed', 'It has changed since: read it again.');
    }
  };
  return { ...actorOf(c), precondition };
}

/** Weak tags name nothing: `If-Match` compares strongly. */
function namesLike(list: string, tag: string): boolean {
  const strong = list.replaceAll(/W\/"[^"]*"/g, '').match(WHOLE_TAG) ?? [];
  return strong.some((one) => firstPart(one) === firstPart(tag));
}

function firstPart(tag: string): string {
  return tag.slice(1, -1).split(PART_END, 1).join();
}

function digest(part: unknown): string {
  const text = typeof part === 'string' ? part : JSON.stringify(part);
  const hash = createHash('sha256').update(text).digest();
  return hash.subarray(0, DIGEST_BYTES).toString('base64url');
}
