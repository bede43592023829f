import { z } from 'zod';
import { type FaultReport, faultWords } from '../../../src/domain/fault.js';

const readinessSchema = z.looseObject({
  faults: z.array(
    z.object({
      code: z.string(),
      message: z.string(),
      subject: z.object({ type: z.string(), id: z.string(), name: z.string() }).optional(),
    }),
  ),
});

/** The faults of a `Health` as texts: the message and its subject. */
export function faultTexts(faults: readonly FaultReport[]): string[] {
  return faults.map((fault) => textOf(faultWords(fault, 'en').message, fault.subject));
}

/** The faults of a `gateway/status`, or of a `/readyz` requested with an access token, as texts. */
export function faultTextsIn(readiness: unknown): string[] {
  const { faults } = readinessSchema.parse(readiness);
  return faults.filter(isOfGateway).map(({ message, subject }) => textOf(message, subject));
}

/** Whether a fault concerns the gateway, not the Node.js that runs the tests. */
function isOfGateway({ code }: { readonly code: string }): boolean {
  return code !== 'runtime-unsupported';
}

function textOf(
  message: string,
  subject: Readonly<Record<'type' | 'id' | 'name', string>> | undefined,
): string {
  if (subject === undefined) return message;
  const { type, id, name } = subject;
  const named = name === id ? id : `${name} (${id})`;
  return `${message.replace(/\.$/, '')}: ${type.replace('-', ' ')} ${named}`;
}
