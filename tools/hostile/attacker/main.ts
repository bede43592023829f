/** An attacker in its own process. */
import { ATTACKS } from '../attacks/index.js';
import { answerCalls } from '../calls.js';
import { Field } from './field.js';
import { type AttackerCall, attackerCallSchema } from './plan.js';

let field: Field | undefined;
let failure: unknown;

answerCalls(attackerCallSchema, async (call: AttackerCall) => {
  if (call.call === 'ready') return;
  if (call.call === 'begin') {
    const attack = ATTACKS.find(({ name }) => name === call.plan.attack);
    if (attack === undefined) throw new Error(`there is no attack ${call.plan.attack}`);
    field = new Field(call.plan);
    attack.run(field).catch((error: unknown) => {
      failure = error;
    });
    return;
  }
  field?.end();
  if (failure !== undefined) throw failure;
  return field?.counts;
});
