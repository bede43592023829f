import { readFile } from 'node:fs/promises';
import { fillIn } from '../former/fill-in.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import type { Environment } from '../former/gateway/running-gateway.js';
import type { RedisPair } from '../former/servers/redis-pair.js';

/** The gateway of a box, from config/pair/gateway.yaml itself; not started yet. */
export async function pairGateway(
  pair: Pick<RedisPair, 'sentinels' | 'password' | 'sentinelPassword'>,
  environment: Environment = {},
): Promise<GatewayProcess> {
  const gateway = await GatewayProcess.create(environment);
  const sentinels = pair.sentinels.map((address) => `    - ${address}`).join('\n');
  await gateway.configure(
    fillIn(await readFile('config/pair/gateway.yaml', 'utf8'), [
      [/^ {4}- 192\.168\.20\.11:26379\n.*\n.*$/m, sentinels],
      [/(?<=^ {2}password: ).*$/m, pair.password],
      [/(?<=^ {2}sentinelPassword: ).*$/m, pair.sentinelPassword],
      // The tests connect without TLS, from this machine.
      [/^tls:\n.*\n.*$/m, ''],
    ]),
  );
  return gateway;
}
