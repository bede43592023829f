/**
 * Conditional requests (RFC 9110, 13): a GET that sends nothing which the caller has, and a change of only the state that
 * the caller has seen.
 *
 * An entity tag has up to two parts: what callers change, and what changes on its own. A change looks at the first only,
 * so that a device may connect meanwhile.
 */

import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.js';
import type { HttpContext } from './frame.js';

const DIGEST_BYTES = 12;
/** Separates the parts; no digest contains it. */
const PART_END = '.';
const WHOLE_TAG = /"[^"]*"/g;
const WEAK_TAG = /W\/"[^"]*"/g;

/**
 * The strong entity tag of a representation (RFC 9110, 8.8.3).
 *
 * @param state the part of it that changes on its own
 */
export function entityTag(representation: unknown, state?: unknown): string {
  const parts = state === undefined ? [representation] : [representation, state];
  return `"${parts.map(digest).join(PART_END)}"`;
}

/** Whether the caller has the representation with this tag (RFC 9110, 13.1.2, which compares weakly). */
export function isKnown(c: HttpContext, tag: string): boolean {
  const known = c.req.header('If-None-Match');
  if (known === undefined) return false;
  const opaque = (one: string) => one.trim().replace(/^W\//, '');
  return known.split(',').some((one) => one.trim() === '*' || opaque(one) === opaque(tag));
}

/**
 * Checks `If-Match` and `If-None-Match` of a change (RFC 9110, 13.1.1, 13.1.2).
 *
 * @param tagNow the entity tag at the moment of the change
 * @throws GatewayError `precondition-failed`
 */
export function requireMatch(c: HttpContext, tagNow: () => string): void {
  const wanted = c.req.header('If-Match');
  const unwanted = c.req.header('If-None-Match');
  // `If-Match` compares strongly, and so ignores weak tags.
  if (wanted !== undefined && !names(wanted.replaceAll(WEAK_TAG, ''), tagNow)) {
    throw new GatewayError('precondition-failed', 'It has changed since: read it again.');
  }
  if (unwanted !== undefined && names(unwanted, tagNow)) {
    throw new GatewayError('precondition-failed', 'It is as `If-None-Match` says.');
  }
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
