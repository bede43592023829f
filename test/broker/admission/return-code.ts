import type { IConnectPacket } from 'mqtt-packet';
import { expect } from 'vitest';
import { connectPacket, RawClient } from '../../former/clients/raw-client.js';
import type { GatewayHere } from '../../former/gateway/gateway-here.js';

export const ACCEPTED = 0;

/**
 * The return code of the CONNACK; after a connect error the connection must close [MQTT-3.2.2-5].
 */
export async function returnCodeOf(
  gateway: GatewayHere,
  options: Partial<IConnectPacket>,
): Promise<number | undefined> {
  const client = await RawClient.open(gateway);
  client.send(connectPacket(options));
  const { returnCode, sessionPresent } = await client.next('connack');
  if (returnCode === ACCEPTED) await client.ping();
  else {
    expect(sessionPresent).toBe(false);
    await client.closed();
  }
  client.vanish();
  return returnCode;
}
