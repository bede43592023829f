import type { GatewayProcess } from './gateway-process.js';

const SAMPLE =
  /^gateway_destination_messages\{destination="(.*)",log="(\w+)",state="(\w+)"\} (\d+)$/;

/** What `/metrics` says became of the messages for a session, both logs together. */
export async function accountOf(gateway: GatewayProcess, clientId: string) {
  const text = await (await fetch(`${gateway.httpUrl}/metrics`)).text();
  const account = { accepted: 0, delivered: 0, queued: 0, expired: 0, dropped: 0 };
  for (const line of text.split('\n')) {
    const [, destination, , state, count] = SAMPLE.exec(line) ?? [];
    if (destination !== clientId || state === undefined || !(state in account)) continue;
    if (isState(state, account)) account[state] += Number(count);
  }
  return account;
}

function isState<T extends object>(state: string, account: T): state is string & keyof T {
  return state in account;
}
