/** For the operator and for programs: whether the gateway lives and is ready, what is wrong, metrics, descriptions. */

import { accepts } from 'hono/accepts';
import { z } from 'zod';
import {
  CHECKS,
  FAULT_SUBJECTS,
  type Fault,
  FINDING_STATES,
  faultWords,
  LANGUAGES,
  type Language,
  withoutRepeats,
} from '../../domain/fault.js';
import { FAULT_CODES } from '../../domain/faults.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import type { Caller } from '../caller.js';
import { Nothing, named, time } from '../fields.js';
import { type HttpContext, pathOf } from '../frame.js';
import { Problem, problemReply } from '../problem.js';
import {
  admin,
  adminOrThisMachine,
  anyToken,
  everybody,
  everybodyOrToken,
  type Rights,
} from '../rights.js';
import { done, get, json, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

/** A present fault, as far as the caller may see it. */
const FaultView = z
  .object({
    code: z.string().meta({
      description: `What is wrong. Stable; later versions may add to these: ${FAULT_CODES.join(', ')}.`,
      examples: ['bridge-down'],
    }),
    stops: z.boolean().meta({ description: 'Whether the gateway is not ready because of it.' }),
    since: time,
    message: z
      .string()
      .optional()
      .meta({
        description: 'With a valid access token only.',
        examples: ['A bridge is down: the upstream cannot be reached.'],
      }),
    subject: z
      .object({
        type: z.enum(FAULT_SUBJECTS),
        id: z.string(),
        name: z.string(),
        via: named.optional().meta({ description: 'The hub that publishes for it.' }),
      })
      .optional()
      .meta({
        description: 'What it is about, for callers who may see that.',
        examples: [{ type: 'bridge', id: 'head-office', name: 'head-office' }],
      }),
  })
  .meta({ id: 'Fault' });

/** A fault as shown to a caller who must do something about it. */
export const AdvisedFault = FaultView.required({ message: true })
  .extend({
    advice: z.string().meta({
      description: 'What to do about it. Text in backquotes is code.',
      examples: ['Check its name, address and port, and the network.'],
    }),
    acknowledgeable: z.boolean().meta({
      description: 'Whether it stays until an administrator acknowledges it.',
    }),
    more: z
      .int()
      .optional()
      .meta({
        description:
          'How many faults like it this one stands for, which are not listed one by one; its message has the number, too.',
        examples: [17],
      }),
  })
  .meta({ id: 'AdvisedFault' });

export const Findings = z
  .object({
    findings: z.array(
      z.object({
        check: z.enum(CHECKS),
        state: z.enum(FINDING_STATES),
        finding: z.string().meta({ examples: ['It answers, and its settings are safe.'] }),
        advice: z
          .string()
          .optional()
          .meta({ description: 'What to do; text in backquotes is code. Unless `ok`.' }),
      }),
    ),
  })
  .meta({ id: 'Findings' });

const Live = z.object({ status: z.literal('ok') }).meta({ id: 'Live' });
const version = z.string().meta({ examples: ['1.0.0'] });
const faults = z.array(FaultView);
const Readiness = z.object({ ready: z.literal(true), version, faults }).meta({ id: 'Readiness' });
const NotReady = Problem.extend({ ready: z.literal(false), version, faults }).meta({
  id: 'NotReady',
});
const NOT_READY = 'The gateway cannot do its whole work: see `faults`.';

const Document = z.looseObject({});
const YEAR_MS = 365 * 24 * 3_600_000;
const PEM_EXAMPLE = '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n';
const SECURITY_EXAMPLE =
  'Contact: mailto:security@example.org\nExpires: 2027-01-01T00:00:00.000Z\n';

export function operationRoutes(services: HttpServices, rights: Rights): Routes {
  const { health, files, metrics } = services;
  const tag = 'Operation';
  return {
    getLiveness: get('/healthz', {
      tag,
      summary: 'Whether the process answers',
      right: everybody,
      answer: json('The process answers.', Live),
      handle: () => ({ status: 'ok' as const }),
    }),
    getReadiness: get('/readyz', {
      tag,
      summary: 'Whether the gateway is ready',
      description:
        'Open to everybody. With a valid access token, faults also have their message, in English or German (`Accept-Language`), and their subject where the token may see it.',
      right: everybodyOrToken,
      answer: json('The gateway is ready; `faults` has those for others to mend.', Readiness),
      failure: {
        status: 503,
        description: 'The gateway is not ready; `faults` says why.',
        schema: NotReady,
      },
      handle: ({ c, caller }) => {
        const language = answerLanguage(c);
        const shown = withoutRepeats(
          health.shown().map((fault): z.infer<typeof FaultView> => {
            const { code, stops, since } = fault;
            if (!caller.hasToken) return { code, stops, since };
            return faultView(fault, caller, rights, language);
          }),
        );
        const { version } = services;
        if (health.ready()) return { ready: true as const, version, faults: shown };
        // A thrown problem would log an error with every request.
        const failure = new GatewayError('not-ready', NOT_READY);
        const options = { extension: { ready: false, version, faults: shown } };
        const { headers, body } = problemReply(failure, pathOf(c), c.get('requestId'), options);
        return c.body(body, 503, headers);
      },
    }),
    listFaults: get('/faults', {
      tag,
      summary: 'List what is wrong now, with what to do about it',
      description: 'In English or German, as `Accept-Language` asks.',
      right: anyToken,
      answer: json('The present faults.', AdvisedFault.array()),
      handle: ({ c, caller }) => {
        const language = answerLanguage(c);
        const present = health.shown().map((fault) => ({
          ...faultView(fault, caller, rights, language),
          advice: faultWords(fault, language).advice,
          acknowledgeable: fault.acknowledge !== undefined,
          ...(fault.more !== undefined && { more: fault.more }),
        }));
        return withoutRepeats(present);
      },
    }),
    acknowledgeFault: post('/faults/{code}/acknowledge', {
      tag,
      summary: 'Acknowledge a fault that stays until an administrator has seen it',
      right: admin,
      body: Nothing,
      isBodyOptional: true,
      answer: done,
      handle: async ({ path: { code }, caller }) => {
        const present = health
          .shown()
          .filter((fault) => fault.code === code && fault.acknowledge !== undefined);
        if (present.length === 0) {
          throw new GatewayError('fault-not-found', 'There is no such fault to acknowledge.');
        }
        await services.audit.record(
          present.map((fault) => ({
            action: 'fault.acknowledged',
            actor: caller.actor,
            atMs: services.now(),
            locationId: null,
            resourceId: code,
            details: { message: faultWords(fault, 'en').message },
          })),
        );
        for (const fault of present) fault.acknowledge?.();
      },
    }),
    examineGateway: get('/doctor', {
      tag,
      summary: 'Look the gateway over: what is wrong, or would be at its next start',
      description:
        'As `care-home-gateway doctor`, in English or German, as `Accept-Language` asks. Each check has one `ok`, or what it has found.',
      right: admin,
      answer: json('What the checks have found.', Findings),
      handle: async ({ c }) => ({ findings: [...(await services.examine(answerLanguage(c)))] }),
    }),
    getMetrics: get('/metrics', {
      tag,
      summary: 'Counters and gauges for Prometheus; from another machine for administrators only',
      right: adminOrThisMachine(services.openMetrics, services.publicUrl !== undefined),
      answer: {
        status: 200,
        description: 'The metrics.',
        schema: z.void(),
        others: { 'text/plain': z.string().meta({ examples: ['gateway_faults 0\n'] }) },
      },
      problems: {
        401: 'There is no access token, or not a valid one.',
        403: 'The access token has no grant for this.',
        429: 'Too many invalid access tokens came from this address.',
      },
      handle: async ({ c }) =>
        c.text(await metrics.metrics(), 200, { 'Content-Type': metrics.contentType }),
    }),
    getOpenApiDocument: get('/openapi.json', {
      tag,
      summary: 'This document',
      right: everybody,
      answer: json('The document.', Document.meta({ examples: [{ openapi: '3.1.0' }] })),
      alsoAnswers: { 304: 'The client has it already.' },
      handle: ({ c }) => files.answer(c, 'openapi.json'),
    }),
    getAsyncApiDocument: get('/asyncapi.json', {
      tag,
      summary: 'The MQTT side, described',
      right: everybody,
      answer: json('The document.', Document.meta({ examples: [{ asyncapi: '3.0.0' }] })),
      alsoAnswers: { 304: 'The client has it already.' },
      handle: ({ c }) => files.answer(c, 'asyncapi.json'),
    }),
    getAuthority: get('/ca.pem', {
      tag,
      summary: 'The certificate authority of the gateway, for clients to trust',
      description: 'With `tls.selfSigned` only.',
      right: everybody,
      answer: {
        status: 200,
        description: 'The certificate, PEM.',
        schema: z.void(),
        others: { 'application/x-pem-file': z.string().meta({ examples: [PEM_EXAMPLE] }) },
      },
      problems: { 404: 'The gateway has no authority of its own.' },
      handle: ({ c }) => {
        if (services.authority === undefined) {
          const detail = 'This gateway has no certificate authority of its own.';
          throw new GatewayError('not-found', detail);
        }
        return c.body(services.authority, 200, {
          'Content-Type': 'application/x-pem-file',
          'Content-Disposition': 'attachment; filename="care-home-gateway-ca.pem"',
        });
      },
    }),
    getSecurityContact: get('/.well-known/security.txt', {
      tag,
      summary: 'Whom to tell of a vulnerability (RFC 9116)',
      description: 'With `http.securityContact` only.',
      right: everybody,
      answer: {
        status: 200,
        description: 'The contact.',
        schema: z.void(),
        others: { 'text/plain': z.string().meta({ examples: [SECURITY_EXAMPLE] }) },
      },
      problems: { 404: 'No contact is configured.' },
      handle: ({ c }) => {
        const { securityContact, publicUrl, now } = services;
        if (securityContact === undefined) {
          throw new GatewayError('not-found', 'This gateway names nobody.');
        }
        const fields = [`Contact: ${securityContact}`, `Expires: ${formatTime(now() + YEAR_MS)}`];
        // RFC 9116, 2.5.2: a web address begins with https.
        if (publicUrl?.startsWith('https:')) fields.push(`Canonical: ${publicUrl}${pathOf(c)}`);
        return c.text(`${fields.join('\n')}\n`);
      },
    }),
    openMqttConnection: get('/mqtt', {
      tag,
      summary: 'MQTT over WebSocket',
      // A generated HTTP client could not use it; the AsyncAPI document has it among its servers.
      isHidden: true,
      right: everybody,
      answer: { status: 200, description: '', schema: z.void() },
      handle: () => {
        // An upgrade never gets here.
        throw new GatewayError(
          'upgrade-required',
          'MQTT over WebSocket (RFC 6455) is spoken here.',
        );
      },
    }),
  };
}

/** A fault, with its subject where the caller may see it. */
function faultView(fault: Fault, caller: Caller, rights: Rights, language: Language) {
  const { code, stops, since, subject } = fault;
  const { message } = faultWords(fault, language);
  const isShown = subject !== undefined && rights.coversSubject(caller, subject);
  return { code, stops, since, message, ...(isShown && { subject }) };
}

/**
 * The language that the caller prefers (RFC 9110, 12.5.4); English by default.
 *
 * Marks the answer with its language, and as dependent on the caller's choice.
 */
function answerLanguage(c: HttpContext): Language {
  c.header('Vary', 'Accept-Language', { append: true });
  // `de-AT` asks for German.
  const languageIn = (range: string) =>
    LANGUAGES.find((language) => range.toLowerCase().split('-')[0] === language);
  const preferred = accepts(c, {
    header: 'Accept-Language',
    supports: [...LANGUAGES],
    default: 'en',
    match: (ranges, { default: otherwise }) => {
      const byWeight = ranges.filter(({ q }) => q > 0).sort((one, other) => other.q - one.q);
      return byWeight.map(({ type }) => languageIn(type)).find(Boolean) ?? otherwise;
    },
  });
  const language = languageIn(preferred) ?? 'en';
  c.header('Content-Language', language);
  return language;
}
