import { parseArgs } from 'node:util';

/** The parsed command line. */
export type Invocation =
  | { readonly mode: 'run'; readonly alarms: number | undefined }
  | { readonly mode: 'help' }
  | { readonly mode: 'unusable'; readonly fault: string };

export const USAGE = `usage: npm run demo [-- --alarms N]

Shows the gateway at work: a made-up care home whose sensors publish alarms, and a nurse-call system
that receives them. Nothing needs to be prepared, and nothing is left behind.

  --alarms N   end by itself once N alarms have arrived: status 0, or 1 if one has not.
               Without it the demo runs until Ctrl-C
  --help       show this

Colour: only in a terminal; NO_COLOR=1 switches it off, FORCE_COLOR=1 on.
`;

/** Parses the command line; unknown arguments are a fault. */
export function readInvocation(args: readonly string[]): Invocation {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { alarms: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help === true) return { mode: 'help' };
    if (values.alarms === undefined) return { mode: 'run', alarms: undefined };
    if (/^[1-9]\d{0,5}$/.test(values.alarms)) {
      return { mode: 'run', alarms: Number(values.alarms) };
    }
    return { mode: 'unusable', fault: '--alarms must be a whole number from 1 to 999999' };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { mode: 'unusable', fault: error.message };
  }
}
