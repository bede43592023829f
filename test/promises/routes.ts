/** The app's own table of routes, and how a test asks each of them. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { createHttpApp } from '../../src/http/app.js';
import type { HttpServices } from '../../src/http/services.js';
import type { Asking, Home } from '../harness/index.js';

export interface Route {
  readonly method: string;
  /** With its parameters: `/care-homes/:locationId`. */
  readonly path: string;
}

/** Open paths; `/metrics` is open to loopback, from where the tests connect. */
export const OPEN_PATHS = [
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/asyncapi.json',
  '/docs',
  '/docs/:file',
  '/metrics',
  '/',
  '/console/:file',
  '/mqtt',
];

/** Open paths that answer 404 unless the configuration has something for them. */
export const OPTIONAL_PATHS = ['/ca.pem', '/.well-known/security.txt'];

/** Paths for holders of a signed URL; without a signature 403, whatever the token. */
export const SIGNED_PATHS = ['/footage/:deviceId/:type/:file'];

/** Paths for devices themselves, by id and secret; 401 with a token. */
export const DEVICE_PATHS = ['/devices/:deviceId/footage'];

/** Replaces all parts of a gateway: every property is itself. */
const nothing: object = new Proxy(() => undefined, { get: () => nothing });

/**
 * The app's own routing table, so that no new route is forgotten, not even an undescribed one.
 *
 * Its app is built only for this list and never answers: the requests of the tests go to gateways.
 */
const ROUTES = listRoutes();

function listRoutes(): Route[] {
  const routes = createHttpApp(z.custom<HttpServices>().parse(nothing)).routes.filter(
    ({ method }) => method !== 'ALL',
  );
  const names = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  return [...names].map((name) => {
    const [method = '', path = ''] = name.split(' ');
    return { method, path };
  });
}

/** Every route. */
export function routesOf(): readonly Route[] {
  return ROUTES;
}

const PAGES = ['/', '/docs', '/docs/:file', '/console/:file'];

/** The routes for programs; MQTT over WebSocket is no HTTP exchange. */
export function describedRoutes(): Route[] {
  return routesOf().filter(({ path }) => path !== '/mqtt' && !PAGES.includes(path));
}

/** The routes that take an access token. */
export function protectedRoutesOf(): Route[] {
  const others = [...OPEN_PATHS, ...OPTIONAL_PATHS, ...SIGNED_PATHS, ...DEVICE_PATHS];
  return routesOf().filter(({ path }) => !others.includes(path));
}

/** Whether the route takes a validated JSON body; custom data has its own rules. */
export function takesJson({ method, path }: Route): boolean {
  return (method === 'POST' || method === 'PATCH') && !path.endsWith('/custom-data');
}

/** Whether the JSON body has no field. */
export function mustBeEmpty(path: string): boolean {
  return /\/secret$|\/send-again$|^\/faults\//.test(path);
}

/** Whether the JSON body may be omitted. */
export function bodyIsOptional({ path }: Route): boolean {
  return (
    mustBeEmpty(path) ||
    path.includes('/alarms/:alarmId/') ||
    path.endsWith('/test-alarm') ||
    path.endsWith('/drills')
  );
}

/** An existing file of the page. */
const FILES: Readonly<Record<string, string>> = { file: 'start.js' };

/** Replaces the path's parameters with ids, or with random ones where none is given. */
export function fill(path: string, ids: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? FILES[name] ?? randomUUID());
}

/** The parameter that a route must have, as it follows the path. */
export function neededQuery({ method, path }: Route): string {
  const erases = method === 'DELETE' && path.endsWith('/alarms');
  return erases ? '?before=2026-01-01T00:00:00.000Z' : '';
}

/** One of each thing, by the names of the parameters; what may not exist is any id. */
export async function furnished(home: Home) {
  const groupId = await home.group();
  const roomId = await home.room('Zimmer 1', groupId);
  const device = await home.deviceIn(roomId);
  const alarmId = randomUUID();
  await home.publish(device, 'alarms', JSON.stringify({ kind: 'fall', id: alarmId }));
  const { id: tokenId } = await home.token();
  const ids = {
    locationId: home.locationId,
    groupId,
    roomId,
    deviceId: device.id,
    alarmId,
    tokenId,
  };
  /** Sends a request with the credentials that the route takes. */
  const askAt = (route: Route, asking: Asking = {}, own = {}, query = '') => {
    const { method, path } = route;
    const needed = neededQuery(route);
    const whole = query === '' ? needed : query + needed.replace('?', '&');
    return home.ask(method, fill(path, { ...ids, ...own }) + whole, {
      ...asking,
      ...(DEVICE_PATHS.includes(path) && { device }),
    });
  };
  return { device, ids, askAt };
}
