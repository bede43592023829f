import { randomUUID } from 'node:crypto';
import type { HttpApp } from '../../src/http/http-env.js';

export interface Route {
  readonly method: string;
  /** With its parameters: `/care-homes/:locationId`. */
  readonly path: string;
}

/** `/metrics` is open to loopback, where the tests come from; its own test tells the rest. */
export const OPEN_PATHS = [
  ...['/healthz', '/readyz', '/openapi.json', '/asyncapi.json', '/docs', '/docs/:file', '/metrics'],
];

/** Open to whoever has a URL that the gateway signed; refused without, and with any token, as 403. */
export const SIGNED_PATHS = ['/footage/:deviceId/:type/:file'];

/** For devices themselves, by their id and secret: a token is 401. */
export const DEVICE_PATHS = ['/devices/:deviceId/footage'];

/** Every route there is, from the app's own routing table, so that a new one cannot be forgotten. */
export function routesOf(app: HttpApp): Route[] {
  const routes = app.routes.filter(({ method }) => method !== 'ALL');
  const names = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  return [...names].map((name) => {
    const [method = '', path = ''] = name.split(' ');
    return { method, path };
  });
}

/** The routes that take an access token. */
export function protectedRoutesOf(app: HttpApp): Route[] {
  const others = [...OPEN_PATHS, ...SIGNED_PATHS, ...DEVICE_PATHS];
  return routesOf(app).filter(({ path }) => !others.includes(path));
}

/** Whether the route takes a JSON body that is validated; custom data has rules of its own. */
export function takesJson({ method, path }: Route): boolean {
  return (
    (method === 'POST' || method === 'PATCH') &&
    !path.endsWith('/secret') &&
    !path.endsWith('/acknowledge') &&
    !path.endsWith('/custom-data')
  );
}

/** Of the page's files, one that is there. */
const FILES: Readonly<Record<string, string>> = { file: 'start.js' };

/** Puts ids where the path has parameters; any id where none is given. */
export function fill(path: string, ids: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? FILES[name] ?? randomUUID());
}
