import { ProcessorShare } from '../../../src/network/processor-share.js';

/** What a listener needs beside its app: limits that no test reaches by itself. */
export const FAIRNESS = {
  turns: new ProcessorShare(),
  admitsHandshake: () => true,
  isKnown: () => false,
  watch: { exceeded: () => undefined },
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
};
