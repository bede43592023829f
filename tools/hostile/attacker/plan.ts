import { z } from 'zod';
import { loginSchema } from '../../../test/harness/load/plan.js';

/** The messages between an attacker's process and the trial that owns it. */

const armsSchema = z.object({
  /** Devices of the attacker's home. */
  devices: z.array(loginSchema),
  /** Access tokens that cover the attacker's home. */
  tokens: z.array(loginSchema),
  /** Matches everything forwarded from the attacker's home. */
  filter: z.string(),
  /** Anything else that this attack needs to know. */
  texts: z.record(z.string(), z.string()),
});
export type Arms = z.infer<typeof armsSchema>;

const portsSchema = z.object({
  mqtt: z.number(),
  http: z.number().optional(),
  mqtts: z.number().optional(),
  https: z.number().optional(),
});
export type Ports = z.infer<typeof portsSchema>;

export const fieldPlanSchema = z.object({
  attack: z.string(),
  seconds: z.number(),
  host: z.string(),
  ports: portsSchema,
  /** Addresses to connect from. */
  addresses: z.array(z.string()).readonly(),
  arms: armsSchema,
});
export type FieldPlan = z.infer<typeof fieldPlanSchema>;

export const attackerCallSchema = z.discriminatedUnion('call', [
  /** Resolves when the process and its network are up. */
  z.object({ call: z.literal('ready') }),
  z.object({ call: z.literal('begin'), plan: fieldPlanSchema }),
  /** Resolves to the counts. */
  z.object({ call: z.literal('end') }),
]);
export type AttackerCall = z.infer<typeof attackerCallSchema>;

export const countsSchema = z.record(z.string(), z.number());
