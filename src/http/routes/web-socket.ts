import { createRoute } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { NO_SECURITY, problem } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';

const open = createRoute({
  method: 'get',
  path: '/mqtt',
  operationId: 'openMqttConnection',
  summary: 'MQTT over WebSocket',
  tags: ['Operation'],
  security: NO_SECURITY,
  // A generated HTTP client could not use it; the AsyncAPI document has it among its servers.
  hide: true,
  responses: {
    101: { description: 'The connection speaks MQTT from here on.' },
    426: problem('The request does not ask for a WebSocket.'),
  },
});

/** Answers a plain request at the path of MQTT over WebSocket; an upgrade never gets here. */
export function registerWebSocket(app: HttpApp): void {
  app.openapi(open, () => {
    throw new GatewayError('upgrade-required', 'MQTT over WebSocket (RFC 6455) is spoken here.');
  });
}
