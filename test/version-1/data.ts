import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { objectMembers } from '../../src/domain/notation.js';

const run = promisify(execFile);

const messageSchema = z.object({ topic: z.string(), text: z.string() });
const count = z.number();
const accountSchema = z.object({
  accepted: count,
  delivered: count,
  queued: count,
  expired: count,
  dropped: count,
});
const deviceSchema = z.object({
  id: z.string(),
  secret: z.string(),
  formerSecret: z.string().optional(),
});
const tokenSchema = z.object({ id: z.string(), token: z.string() });
const recordingSchema = z.object({ key: z.string(), contentType: z.string(), sha256: z.string() });
const eventSchema = z.looseObject({
  id: z.string(),
  kind: z.string(),
  detectedAt: z.string(),
  footage: z.object({ video: z.string().nullable(), audio: z.string().nullable() }),
});
const consumerSchema = z.object({
  /** The name of its access token. */
  owner: z.string().optional(),
  accounts: z.object({ alarms: accountSchema, messages: accountSchema }),
  /** Indexes of `messages`, in their order. */
  owed: z.array(z.number()).default([]),
});

const expectedSchema = z.object({
  configuration: z.looseObject({ bridges: z.array(z.looseObject({ name: z.string() })) }),
  adminToken: z.string(),
  devices: z.object({
    bed: deviceSchema,
    door: deviceSchema,
    camera: deviceSchema,
    mover: deviceSchema,
    lone: deviceSchema,
    sensor: deviceSchema,
    mat: deviceSchema,
    /** Deleted. */
    gone: deviceSchema,
  }),
  tokens: z.object({
    ended: tokenSchema,
    viewer: tokenSchema,
    southViewer: tokenSchema,
    everywhere: tokenSchema,
    manager: tokenSchema,
  }),
  recordings: z.object({ video: recordingSchema, audio: recordingSchema }),
  consumers: z.record(z.string(), consumerSchema),
  commands: z.array(messageSchema),
  retained: z.array(messageSchema),
  /** Path → what it was answered with. */
  answers: z.record(z.string(), z.string()),
  /** Ascending, with object keys in place of URLs. */
  histories: z.array(
    z.object({ path: z.string(), as: z.string().optional(), events: z.array(eventSchema) }),
  ),
  audit: z.array(z.looseObject({ id: z.string(), action: z.string() })),
  /** Payloads of alarms of `bed` that are recorded already. */
  repeats: z.array(z.string()),
  /** Every alarm and reading, as it was forwarded, without `late`. */
  messages: z.array(messageSchema),
});

export type Expected = z.infer<typeof expectedSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Consumer = z.infer<typeof consumerSchema>;

/** How the gateway of version 1 ended. */
export const ENDS = ['stopped', 'killed'] as const;
export type HowItEnded = (typeof ENDS)[number];

/** A copy of a data directory of version 1 (`make.mjs`), and what must be found in it. */
export async function unpackVersionOne(end: HowItEnded) {
  const file = (suffix: string) => join(import.meta.dirname, `${end}.${suffix}`);
  const expected = expectedSchema.parse(JSON.parse(await readFile(file('json'), 'utf8')));
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-version-1-'));
  await run('tar', ['-xzf', file('tar.gz'), '-C', dataDir]);
  return { expected, dataDir };
}

/** The JSON text of each member but `late`, which only the moment of sending can tell. */
export function membersOf(text: string): Record<string, string> {
  const members = objectMembers(text) ?? new Map<string, string>();
  members.delete('late');
  return Object.fromEntries(members);
}

/** The same of an alarm, without the names of its place. */
export function membersWithoutNames(text: string): Record<string, string> {
  const members = membersOf(text);
  for (const place of ['device', 'location', 'room', 'group']) {
    const member = members[place];
    if (member !== undefined) members[place] = member.replace(/,"name":".*"}$/, '}');
  }
  return members;
}

/** What tells a forwarded message from every other. */
export function identityOf({ topic, text }: Message): string {
  const { id, receivedAt, data, base64 } = membersOf(text);
  return id ?? `${topic} ${receivedAt} ${data ?? base64}`;
}

/** Identities of alarms and of other messages of each device, in their order. */
export function byDevice(messages: readonly Message[]): Record<string, string[]> {
  const lists: Record<string, string[]> = {};
  for (const message of messages) {
    const [, , , deviceId, first] = message.topic.split('/');
    const lane = `${deviceId} ${first === 'alarms' ? 'alarms' : 'messages'}`;
    lists[lane] = [...(lists[lane] ?? []), identityOf(message)];
  }
  return lists;
}
