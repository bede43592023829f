import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import type { OutputStatus } from '../../site/output-list.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { emptyJsonRequestBody, jsonResponse, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { timestampSchema } from '../schemas/common.js';
import { deadLetterSchema, deadLetterView } from '../schemas/dead-letter.js';
import { countSchema, destinationStateSchema, queueFields } from '../schemas/destination.js';

const outputSchema = z
  .object({
    name: z.string().openapi({ example: 'nurse-app' }),
    type: z.literal('webhook'),
    host: z.string().openapi({
      description: 'Of its URL, whose path may be secret.',
      example: 'hooks.example.org',
    }),
    state: destinationStateSchema,
    ...queueFields,
    lastError: z
      .object({
        at: timestampSchema,
        detail: z.string().openapi({ example: 'the receiver answers 500' }),
      })
      .nullable()
      .openapi({ description: 'The last failure since the start, even if it is over.' }),
  })
  .openapi('Output');

const outputPathSchema = z.object({ name: z.string().min(1).max(40) });
const tags = ['Outputs'];

const list = createRoute({
  method: 'get',
  path: '/outputs',
  operationId: 'listOutputs',
  summary: 'List the webhooks with their status',
  tags,
  responses: {
    200: jsonResponse('Outputs.', z.array(outputSchema)),
    ...problems.granted,
  },
});

const listDeadLetters = createRoute({
  method: 'get',
  path: '/outputs/{name}/dead-letters',
  operationId: 'listOutputDeadLetters',
  summary: 'List the dead letters: messages that the receiver never takes, newest first',
  tags,
  request: { params: outputPathSchema },
  responses: { 200: jsonResponse('The newest dead letters.', z.array(deadLetterSchema)) },
});

const sentAgainSchema = z
  .object({
    sent: countSchema,
    reason: z.string().nullable().openapi({
      description: 'Why the next one was not taken; null: none is left.',
      example: null,
    }),
  })
  .openapi('DeadLettersSentAgain');

const sendAgain = createRoute({
  method: 'post',
  path: '/outputs/{name}/dead-letters/send-again',
  operationId: 'sendOutputDeadLettersAgain',
  summary: 'Send the dead letters again, the oldest first, until one is not taken',
  tags,
  request: { params: outputPathSchema, body: emptyJsonRequestBody },
  responses: { 200: jsonResponse('How many were taken.', sentAgainSchema) },
});

/** Webhooks, which are configured in the file and not here (docs/reference/contract.md, 3). */
export function registerOutputs(app: HttpApp, services: RouteServices): void {
  const { access, outputs, readsOptionalJson } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) =>
    c.json((await outputs.statuses()).map(outputView), 200),
  );

  app.openapi({ ...listDeadLetters, middleware: [access.admin()] }, async (c) => {
    const letters = await outputs.deadLetters(c.req.valid('param').name);
    return c.json(letters.map(deadLetterView), 200);
  });

  app.openapi({ ...sendAgain, middleware: [access.admin(), readsOptionalJson] }, async (c) => {
    const { sent, reason = null } = await outputs.sendAgain(actorOf(c), c.req.valid('param').name);
    return c.json({ sent, reason }, 200);
  });
}

function outputView(status: OutputStatus): z.infer<typeof outputSchema> {
  const { name, host, state, lastError, queued, oldestQueuedAtMs, delivered, dropped } = status;
  return {
    name,
    type: 'webhook',
    host,
    state,
    queued,
    oldestQueuedAt: oldestQueuedAtMs === null ? null : formatTime(oldestQueuedAtMs),
    delivered,
    dropped,
    lastError:
      lastError === undefined ? null : { at: formatTime(lastError.atMs), detail: lastError.reason },
  };
}
