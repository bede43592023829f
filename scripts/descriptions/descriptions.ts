import { z } from 'zod';
import { createHttpApp } from '../../src/http/app.js';
import type { HttpDependencies } from '../../src/http/dependencies.js';
import { asyncApiDocument } from './asyncapi-document.js';
import { mqttPage } from './mqtt-page.js';
import { openApiDocument } from './openapi-document.js';

/** Replaces every part of a gateway: the app is built only for its routes and never answers. */
const nothing: object = new Proxy(() => undefined, { get: () => nothing });

/** The documents for programs, and the page of the MQTT side, by file name. */
export function descriptions(): Readonly<Record<string, string>> {
  const app = createHttpApp(z.custom<HttpDependencies>().parse(nothing));
  const asyncApi = asyncApiDocument();
  return {
    'openapi.json': JSON.stringify(openApiDocument(app)),
    'asyncapi.json': JSON.stringify(asyncApi),
    'docs/mqtt.html': mqttPage(asyncApi),
  };
}
