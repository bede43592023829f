import { createRoute } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { formatTime } from '../../domain/time.js';
import type { RouteServices } from '../dependencies.js';
import { createdResponse, jsonRequestBody, problems } from '../documents/openapi.js';
import { deviceOf, type HttpApp, type HttpEnv } from '../http-env.js';
import { deviceIdPathSchema } from '../schemas/common.js';
import { newFootageSchema, preparedUploadSchema } from '../schemas/footage.js';
import { urlReceiver } from '../server/public-url.js';

const prepare = createRoute({
  method: 'post',
  path: '/devices/{deviceId}/footage',
  operationId: 'prepareFootageUpload',
  summary: 'Announce a recording as the device itself, and get the URL to upload it to',
  tags: ['Footage'],
  security: [{ device: [] }],
  request: { params: deviceIdPathSchema, body: jsonRequestBody(newFootageSchema) },
  responses: {
    201: createdResponse('The URL to upload to, and the key.', preparedUploadSchema),
    ...problems.device,
  },
});

export interface FootageUploadServices
  extends Pick<RouteServices, 'footage' | 'publicUrl' | 'readsJson'> {
  readonly authenticateDevice: MiddlewareHandler<HttpEnv>;
}

/** Upload URLs for cameras. */
export function registerFootageUploads(app: HttpApp, services: FootageUploadServices): void {
  const { footage, publicUrl, readsJson, authenticateDevice } = services;
  app.openAPIRegistry.registerComponent('securitySchemes', 'device', {
    type: 'http',
    scheme: 'basic',
    description: "A device's id and secret.",
  });

  app.openapi({ ...prepare, middleware: [authenticateDevice, readsJson] }, async (c) => {
    const { type, contentType } = c.req.valid('json');
    const receiver = urlReceiver(c, publicUrl);
    const prepared = await footage.prepareUpload(deviceOf(c), type, contentType, receiver);
    const { key, uploadUrl, expiresAtMs } = prepared;
    const body = { key, uploadUrl, expiresAt: formatTime(expiresAtMs) };
    return c.json(body, 201, { Location: uploadUrl });
  });
}
