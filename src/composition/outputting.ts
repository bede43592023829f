import { Outputs } from '../outputs/outputs.js';
import type { DeliveryParts } from './delivering.js';
import type { Foundation } from './foundation.js';
import type { Installation } from './installation.js';
import type { Storage } from './storage.js';

/** Opens the queues of the webhooks, but sends nothing yet. */
export async function openOutputs(
  { config, log, health, releasers, steady, now }: Foundation,
  { deadLetters, audit }: Storage,
  { sessions, accounts }: DeliveryParts,
  installation: Installation,
): Promise<Outputs> {
  const { wallTimeOf } = steady;
  const outputs = new Outputs({
    outputs: config.outputs,
    installation: installation.name,
    sessions,
    accounts,
    deadLetters,
    audit,
    health,
    log,
    now,
    wallTimeOf,
  });
  releasers.add(() => outputs.stop());
  await outputs.start();
  return outputs;
}
