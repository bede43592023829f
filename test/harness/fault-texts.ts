import { z } from 'zod';

const faultsSchema = z.array(
  z.object({
    message: z.string(),
    subject: z.object({ type: z.string(), id: z.string(), name: z.string() }).optional(),
  }),
);
const readinessSchema = z.looseObject({ faults: faultsSchema });

/** The faults of a `Health` as texts: the message, and what it is about. */
export function faultTexts(faults: unknown): string[] {
  return faultsSchema.parse(faults).map(({ message, subject }) => {
    if (subject === undefined) return message;
    const { type, id, name } = subject;
    const named = name === id ? id : `${name} (${id})`;
    return `${message.replace(/\.$/, '')}: ${type.replace('-', ' ')} ${named}`;
  });
}

/** The faults of a `gateway/status`, or of a `/readyz` that was asked with an access token, as texts. */
export function faultTextsIn(readiness: unknown): string[] {
  return faultTexts(readinessSchema.parse(readiness).faults);
}
