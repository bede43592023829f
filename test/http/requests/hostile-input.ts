/** Hostile requests to existing routes. */

import fc from 'fast-check';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { anyText } from '../../former/any-text.js';
import { DEVICE_PATHS, fill, type Route, SIGNED_PATHS } from '../routes.js';

/** Existing resources and credentials, to get requests as far as possible. */
export interface Target {
  readonly routes: readonly Route[];
  /** Ids of existing resources, by the names of the path's parameters. */
  readonly ids: Readonly<Record<string, string>>;
  readonly adminToken: string;
  /** A different device from the one among the ids, whose secret changes all the time. */
  readonly camera: { readonly id: string; readonly authorization: string };
  /** Signed paths with their queries, of uploads and downloads. */
  readonly signed: readonly string[];
  readonly maxBodyBytes: number;
}

export interface HostileRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** Any text of a request target that does not end it. */
export const targetText = fc.string({
  unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
export const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
export const encodedText = fc.oneof(
  anyText({ maxLength: 20 }).map((text) => encodeURIComponent(text)),
  fc.constantFrom('..', '%2e%2e', '%2F', '%00', '__proto__', 'constructor', '*', '%F0%9F%91%B5'),
  fc.constantFrom('%', '%zz', '%ff', '.', '', 'x'.repeat(8000)),
);

const QUERY_NAMES = ['before', 'after', 'order', 'limit', 'cursor', 'kinds', 'kinds[]'];
const queryName = fc.oneof(
  fc.constantFrom(...QUERY_NAMES, 'actions', 'location', 'actor', 'resource', '__proto__'),
  fc.constantFrom('expires', 'signature'),
  encodedText,
);
const queryValue = fc.oneof(
  encodedText,
  targetText,
  fc.constantFrom(...ALARM_KINDS, '1', '100', '9'.repeat(400), 'asc', '9999-12-31T23:59:59Z'),
  fc.constantFrom('device.created', 'admin', '0000-01-01T00:00:00Z', '1970-01-01T00:00:00-23:59'),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const query = fc
  .array(fc.tuple(queryName, queryValue), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));

const HEADER_NAMES = ['Content-Encoding', 'X-Request-Id', 'X-Forwarded-For', 'Accept', 'Cookie'];
const header = fc.oneof(
  fc.tuple(fc.constantFrom(...HEADER_NAMES, 'Range', 'If-None-Match', 'If-Range'), headerText),
  fc.constantFrom<[string, string][]>(
    ['Range', 'bytes=0-1'],
    ['Range', 'bytes=-0'],
    ['Range', `bytes=${'9'.repeat(99)}-`],
    ['If-None-Match', '*'],
    ['Content-Range', 'bytes 0-1/2'],
    ['X-HTTP-Method-Override', 'DELETE'],
  ),
);
function headersFor({ method }: Route): fc.Arbitrary<Record<string, string>> {
  const contentType = fc.oneof(
    { weight: 6, arbitrary: fc.constant(method === 'PUT' ? 'video/mp4' : 'application/json') },
    fc.constantFrom('application/merge-patch+json', 'multipart/form-data', 'audio/mp4'),
    headerText,
  );
  return fc
    .tuple(contentType, fc.array(header, { maxLength: 2 }))
    .map(([type, more]) => ({ 'Content-Type': type, ...Object.fromEntries(more) }));
}

/** The fields of all routes together, each with a plausible value or any other. */
function fieldsFor({ ids }: Target): fc.Arbitrary<unknown> {
  const oneOf = (plausible: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 3, arbitrary: plausible }, { weight: 1, arbitrary: fc.anything() });
  const id = oneOf(fc.oneof(fc.constantFrom(...Object.values(ids)), fc.uuid(), fc.string()));
  const name = oneOf(fc.oneof(fc.string(), anyText()));
  const role = fc.oneof(fc.constantFrom('viewer', 'responder', 'manager', 'admin'), fc.string());
  const location = fc.oneof(fc.constant('*'), id);
  const grant = fc.record({ location, role, group: id }, { requiredKeys: ['location', 'role'] });
  const type = oneOf(fc.constantFrom('video', 'audio'));
  const mediaType = oneOf(fc.constantFrom('video/mp4', 'audio/ogg'));
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ name }) },
    fc.record({ name, id }),
    fc.record({ name, groupId: id }),
    fc.record({ name, grants: fc.array(grant), expiresAt: oneOf(fc.constant(null)) }),
    fc.record({ targetLocationId: id }),
    fc.record({ targetRoomId: id }),
    fc.record({ targetGroupId: id }),
    fc.record({ type, contentType: mediaType }),
    fc.dictionary(fc.string(), fc.anything({ withNullPrototype: true })),
  );
}

function bodyFor(target: Target): fc.Arbitrary<Buffer | undefined> {
  const { maxBodyBytes } = target;
  const text = fc.oneof(
    {
      weight: 4,
      arbitrary: fieldsFor(target).map((value) => JSON.stringify(value, withoutBigInt)),
    },
    fc.json({ maxDepth: 5 }),
    fc.constantFrom(
      '[',
      '['.repeat(maxBodyBytes),
      '{"a":'.repeat(maxBodyBytes / 8),
      '{"__proto__":{"name":"x"}}',
      '\ufeff{"name":"x"}',
      '{"name":"x"}\0',
      '{"name":7,"name":"x"}',
    ),
  );
  return fc.oneof(
    fc.constant(undefined),
    { weight: 5, arbitrary: text.map((json) => Buffer.from(json)) },
    fc.constant(Buffer.alloc(maxBodyBytes + 1, '[')),
    fc.uint8Array({ maxLength: 2 * maxBodyBytes }).map((bytes) => Buffer.from(bytes)),
  );
}

/** Replaces the big integers of `fc.anything`, which JSON lacks. */
function withoutBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** A path with known or hostile parameters; signed paths as signed, or altered. */
function pathFor({ method, path }: Route, { ids, camera, signed }: Target): fc.Arbitrary<string> {
  const known: Readonly<Record<string, string>> = {
    ...ids,
    ...(DEVICE_PATHS.includes(path) ? { deviceId: camera.id } : {}),
  };
  const names = Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name);
  // After a DELETE the others would only get 404; a location with devices cannot be deleted.
  const kept = method === 'DELETE' ? ['locationId'] : names;
  const id = (name: string) =>
    fc.oneof(
      { weight: 5, arbitrary: kept.includes(name) ? fc.constant(known[name]) : fc.uuid() },
      { weight: 1, arbitrary: fc.oneof(encodedText, targetText) },
    );
  const filled = fc
    .tuple(...names.map(id))
    .map((values) =>
      fill(path, Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))),
    );
  // Most parameters are rejected early, so many requests have none.
  const search = fc.option(query, { freq: 2, nil: undefined });
  const made = fc
    .tuple(filled, search)
    .map(([one, parameters]) => (parameters === undefined ? one : `${one}?${parameters}`));
  if (!SIGNED_PATHS.includes(path)) return made;
  const altered = fc
    .tuple(
      fc.constantFrom(...signed),
      fc.oneof({ weight: 4, arbitrary: fc.constant('') }, targetText, encodedText),
    )
    .map(([url, rest]) => url + rest);
  return fc.oneof(made, { weight: 3, arbitrary: altered });
}

/** Mostly valid credentials, preferably the administrator's, which get furthest. */
function authorizationFor({ path }: Route, target: Target): fc.Arbitrary<string> {
  const { adminToken, camera } = target;
  const own = DEVICE_PATHS.includes(path) ? camera.authorization : `Bearer ${adminToken}`;
  return fc.oneof({ weight: 6, arbitrary: fc.constant(own) }, { weight: 1, arbitrary: headerText });
}

/** A request to a route, with hostile parameters, query, header fields and body. */
export function hostileRequest(target: Target): fc.Arbitrary<HostileRequest> {
  const body = bodyFor(target);
  return fc.constantFrom(...target.routes).chain((route) =>
    fc
      .tuple(pathFor(route, target), authorizationFor(route, target), headersFor(route), body)
      .map(([path, Authorization, more, sent]) => ({
        method: route.method,
        path,
        headers: { ...more, Authorization },
        body: sent,
      })),
  );
}
