/** Bridges and webhooks: their status and their dead letters. They are configured in the file, not here. */

import { z } from 'zod';
import { GatewayError } from '../../errors.js';
import { count, Nothing, time } from '../fields.js';
import { admin } from '../rights.js';
import { del, done, get, json, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

const state = z.enum(['delivering', 'failing', 'refusing']).meta({
  description: 'Refusing: it has refused an alarm, and taken none since.',
});

/** Waiting messages, and the outcomes of all others. */
const queueFields = {
  queued: count,
  oldestQueuedAt: time.nullable(),
  delivered: count,
  dropped: z.object({
    tooOld: count,
    tooMany: count,
    refused: count.meta({ description: 'Dead letters: messages that are never taken there.' }),
    lost: count.meta({ description: 'Messages that the store has lost.' }),
  }),
};

/** A bridge's status, the same over HTTP and on `gateway/bridges/<name>/status`. */
export const BridgeView = z
  .object({
    name: z.string().meta({ examples: ['head-office'] }),
    url: z
      .string()
      .nullable()
      .meta({
        description: 'Null while the bridge is missing from the configuration.',
        examples: ['mqtts://broker.head-office.example:8883'],
      }),
    state,
    connected: z.boolean(),
    connectedSince: time.nullable(),
    lastAcknowledgedAt: time
      .nullable()
      .meta({ description: 'When the upstream last acknowledged a message.' }),
    ...queueFields,
    lastError: z
      .object({
        at: time,
        kind: z.string().meta({ examples: ['timeout'] }),
        detail: z.string().meta({ examples: ['The upstream has not answered within 10 s.'] }),
      })
      .nullable()
      .meta({ description: 'The last failure, even if it is over.' }),
  })
  .meta({ id: 'Bridge' });

export const OutputView = z
  .object({
    name: z.string().meta({ examples: ['nurse-app'] }),
    type: z.literal('webhook'),
    host: z.string().meta({
      description: 'Of its URL, whose path may be secret.',
      examples: ['hooks.example.org'],
    }),
    state,
    ...queueFields,
    lastError: z
      .object({ at: time, detail: z.string().meta({ examples: ['the receiver answers 500'] }) })
      .nullable()
      .meta({ description: 'The last failure since the start, even if it is over.' }),
  })
  .meta({ id: 'Output' });

export const DeadLetterView = z
  .object({
    at: time,
    topic: z.string().meta({ examples: ['home/alarms/fall'] }),
    reason: z.string().meta({ examples: ['not authorized'] }),
    base64: z.base64().meta({ examples: ['eyJraW5kIjoiZmFsbCJ9'] }),
  })
  .meta({ id: 'DeadLetter' });

export const SentAgain = z
  .object({
    sent: count,
    reason: z
      .string()
      .nullable()
      .meta({
        description: 'Why the next one was not taken; null: none is left.',
        examples: [null],
      }),
  })
  .meta({ id: 'DeadLettersSentAgain' });

export function queueRoutes({ bridges, outputs, deadLetters }: HttpServices): Routes {
  return {
    listBridges: get('/bridges', {
      tag: 'Bridges',
      summary: 'List the bridges to other brokers with their status',
      right: admin,
      answer: json('Bridges.', BridgeView.array()),
      handle: () => bridges.statuses(),
    }),
    deleteBridge: del('/bridges/{name}', {
      tag: 'Bridges',
      summary: 'Delete the queue of a bridge that is missing from the configuration',
      right: admin,
      answer: done,
      problems: { 409: 'The bridge is in the configuration.' },
      handle: ({ path, caller }) => bridges.delete(caller.actor, path.name),
    }),
    listDeadLetters: get('/bridges/{name}/dead-letters', {
      tag: 'Bridges',
      summary: 'List the dead letters: messages that the upstream never takes, newest first',
      right: admin,
      answer: json('The newest dead letters.', DeadLetterView.array()),
      handle: ({ path: { name } }) => {
        if (!bridges.has(name)) {
          throw new GatewayError('bridge-not-found', 'There is no such bridge.');
        }
        return deadLetters.list(name);
      },
    }),
    listOutputs: get('/outputs', {
      tag: 'Outputs',
      summary: 'List the webhooks with their status',
      right: admin,
      answer: json('Outputs.', OutputView.array()),
      handle: () => outputs.statuses(),
    }),
    listOutputDeadLetters: get('/outputs/{name}/dead-letters', {
      tag: 'Outputs',
      summary: 'List the dead letters: messages that the receiver never takes, newest first',
      right: admin,
      answer: json('The newest dead letters.', DeadLetterView.array()),
      handle: ({ path }) => outputs.deadLetters(path.name),
    }),
    sendOutputDeadLettersAgain: post('/outputs/{name}/dead-letters/send-again', {
      tag: 'Outputs',
      summary: 'Send the dead letters again, the oldest first, until one is not taken',
      right: admin,
      body: Nothing,
      isBodyOptional: true,
      answer: json('How many were taken.', SentAgain),
      handle: ({ path, caller }) => outputs.sendAgain(caller.actor, path.name),
    }),
  };
}
