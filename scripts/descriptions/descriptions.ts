import { z } from 'zod';
import { allRoutes } from '../../src/http/app.js';
import type { HttpServices } from '../../src/http/services.js';
import { asyncApiDocument } from './asyncapi-document.js';
import { openApiDocument } from './openapi-document.js';

/** Replaces every part of a gateway: the routes are made only to be described, and never answer. */
const nothing: object = new Proxy(() => undefined, { get: () => nothing });

/** The documents for programs, by file name. */
export function descriptions(version: string): Readonly<Record<string, string>> {
  const routes = allRoutes(z.custom<HttpServices>().parse(nothing));
  return {
    'openapi.json': JSON.stringify(openApiDocument(routes, version)),
    'asyncapi.json': JSON.stringify(asyncApiDocument(version)),
  };
}
