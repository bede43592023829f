import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Api, type TestDevice } from '../../former/clients/api.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';

const eventsSchema = z.object({
  events: z.array(z.looseObject({ id: z.string(), state: z.string() })),
});

/** Publishes an alarm; it is stored when this resolves. */
export async function raise(
  gateway: RunningGateway,
  device: TestDevice,
  kind = 'fall',
): Promise<string> {
  const id = randomUUID();
  const sensor = await connectDevice(gateway, device);
  await sensor.publishAsync(`devices/${device.id}/alarms`, JSON.stringify({ kind, id }), {
    qos: 1,
  });
  await sensor.endAsync();
  return id;
}

export function textOf(id: string, state: string, note?: string): string {
  return JSON.stringify({ id, state, note });
}

/** The states of the location's alarms, by their ids. */
export async function statesOf(
  gateway: RunningGateway,
  device: TestDevice,
): Promise<Record<string, string>> {
  const path = `/care-homes/${device.locationId}/alarms`;
  const { events } = eventsSchema.parse(await new Api(gateway).json('GET', path));
  return Object.fromEntries(events.map(({ id, state }) => [id, state]));
}
