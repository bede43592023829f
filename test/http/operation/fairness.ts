import { ProcessorShare } from '../../../src/network/processor-share.js';

/** What a listener needs besides its app: limits that no test reaches on its own. */
export const FAIRNESS = {
  turns: new ProcessorShare(),
  admitsHandshake: () => true,
  isKnown: () => false,
  watch: { exceeded: () => undefined },
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
};
