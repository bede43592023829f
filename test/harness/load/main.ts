/** A load in its own process, so that it shares its event loop with neither the gateway nor a test. */
import { Load } from './load.js';
import { type Answer, type Call, callSchema } from './plan.js';

let load: Load | undefined;

async function answerTo(call: Call): Promise<Answer> {
  if (call.call === 'open') load = await Load.open(call.plan);
  if (load === undefined) return { failure: 'nothing was opened' };
  if (call.call === 'offer') await load.offer(call.offer);
  if (call.call === 'powerOff') load.powerOff();
  if (call.call === 'powerOn') await load.powerOn();
  if (call.call === 'end') await load.end();
  return { report: load.report() };
}

process.on('message', (message: { readonly number: number; readonly call: unknown }) => {
  answerTo(callSchema.parse(message.call))
    .catch((error: unknown): Answer => ({ failure: String(error) }))
    .then((answer) => process.send?.({ number: message.number, answer }));
});
process.on('disconnect', () => process.exit(0));
