import { z } from 'zod';
import type { RunningGateway } from './gateway/running-gateway.js';

const SAMPLE = /^gateway_consumer_([a-z]+?)(?:_total)?\{consumer="(.*)",log="(\w+)"\} (\d+)$/;

const accountSchema = z.object({
  accepted: z.number(),
  delivered: z.number(),
  queued: z.number(),
  expired: z.number(),
  dropped: z.number(),
});
export type Account = z.infer<typeof accountSchema>;

/** A session's account at `/metrics`, for both logs together or for one. */
export async function accountOf(
  gateway: Pick<RunningGateway, 'httpUrl'>,
  clientId: string,
  log?: 'alarms' | 'messages',
): Promise<Account> {
  return accountIn(await (await fetch(`${gateway.httpUrl}/metrics`)).text(), clientId, log);
}

/** The same from the text of `/metrics`. */
export function accountIn(text: string, clientId: string, log?: 'alarms' | 'messages'): Account {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, state = '', consumer, of, count] = SAMPLE.exec(line) ?? [];
    if (consumer !== clientId || (log ?? of) !== of) continue;
    sums.set(state, (sums.get(state) ?? 0) + Number(count));
  }
  return accountSchema.parse(Object.fromEntries(sums));
}
