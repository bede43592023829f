/** The victims in their own process, whose clock measures all latencies. */
import { answerCalls } from '../calls.js';
import { type WardCall, wardCallSchema } from './plan.js';
import { Ward } from './ward.js';

let ward: Ward | undefined;

answerCalls(wardCallSchema, async (call: WardCall) => {
  if (call.call === 'open') ward = new Ward(call.plan);
  if (ward === undefined) throw new Error('the ward is not open');
  if (call.call === 'open') return ward.open();
  if (call.call === 'sendDurableAway') return ward.sendDurableAway();
  if (call.call === 'bringDurableBack') return ward.bringDurableBack();
  if (call.call === 'stop') return ward.stop();
  return ward.observe(call.sinceMs);
});
