import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { etag } from 'hono/etag';
import { GatewayError } from '../errors.js';
import type { Actor } from '../site/audit-trail.js';
import { actorOf } from './actor.js';
import type { HttpEnv } from './http-env.js';

const DIGEST_BYTES = 12;
/** Separates the digest of what callers change from that of what changes on its own; no digest contains it. */
const PART_END = '.';
const WHOLE_TAG = /"[^"]*"/g;
const WEAK_TAG = /W\/"[^"]*"/g;

/** Answers 304 to an `If-None-Match` that names the entity tag set by the handler (RFC 9110, 13.1.2). */
export const notModifiedIfKnown = etag({
  retainedHeaders: [
    'access-control-allow-origin',
    'access-control-expose-headers',
    'cache-control',
    'etag',
    'strict-transport-security',
    'vary',
    'x-content-type-options',
    'x-request-id',
  ],
});

/**
 * The strong entity tag of a representation (RFC 9110, 8.8.3).
 *
 * @param state the part of it that changes on its own; `If-Match` ignores it
 */
export function entityTag(representation: unknown, state?: unknown): string {
  const parts = state === undefined ? [representation] : [representation, state];
  return `"${parts.map(digest).join(PART_END)}"`;
}

/** Sets the entity tag of the answer. */
export function tagged<View>(c: Context<HttpEnv>, view: View, tag = entityTag(view)): View {
  c.header('ETag', tag);
  return view;
}

/**
 * The actor of this request, with its `If-Match` and `If-None-Match` as preconditions of a change (RFC 9110, 13.1.1,
 * 13.1.2).
 *
 * @param tagNow the entity tag at the moment of the change
 */
export function conditionalActor(c: Context<HttpEnv>, tagNow: () => string): Actor {
  const actor = actorOf(c);
  const wanted = c.req.header('If-Match');
  const unwanted = c.req.header('If-None-Match');
  if (wanted === undefined && unwanted === undefined) return actor;
  const precondition = () => {
    actor.precondition?.();
    // `If-Match` compares strongly, and so ignores weak tags.
    const isWanted = wanted === undefined || names(wanted.replaceAll(WEAK_TAG, ''), tagNow);
    const isUnwanted = unwanted !== undefined && names(unwanted, tagNow);
    if (isWanted && !isUnwanted) return;
    const detail = isWanted
      ? 'It is as `If-None-Match` says.'
      : 'It has changed since: read it again.';
    throw new GatewayError('precondition-failed', detail);
  };
  return { ...actor, precondition };
}

/** Whether a list of entity tags names the present one; `*` names any. */
function names(list: string, tagNow: () => string): boolean {
  if (list.trim() === '*') return true;
  const now = firstPart(tagNow());
  return (list.match(WHOLE_TAG) ?? []).some((one) => firstPart(one) === now);
}

function firstPart(tag: string): string {
  return tag.slice(1, -1).split(PART_END, 1).join();
}

function digest(part: unknown): string {
  const text = typeof part === 'string' ? part : JSON.stringify(part);
  const hash = createHash('sha256').update(text).digest();
  return hash.subarray(0, DIGEST_BYTES).toString('base64url');
}
