/** The program of a load: `process.ts` calls it. */
import { answerCalls } from './calls.js';
import { Load } from './load.js';
import { offerSchema, planSchema } from './plan.js';

let load: Load | undefined;

function opened(): Load {
  if (load === undefined) throw new Error('nothing was opened');
  return load;
}

answerCalls({
  open: async (plan) => {
    load = await Load.open(planSchema.parse(plan));
  },
  offer: (offer) => opened().offer(offerSchema.parse(offer)),
  powerOff: () => opened().powerOff(),
  powerOn: () => opened().powerOn(),
  report: () => opened().report(),
  end: () => opened().end(),
});
