/**
 * An enricher as a team would write it in a day: mqtt.js in front, ioredis behind.
 *
 * It takes alarms as they come instead of one after the other, which is fast and in its favour:
 * mqtt.js acknowledges an alarm before Redis has it, so a crash loses the alarms in between.
 */
import { Redis } from 'ioredis';
import mqtt from 'mqtt';
import { z } from 'zod';
import { answerOnce } from '../answering.js';

const placeSchema = z.object({
  port: z.number(),
  socketPath: z.string(),
  locationId: z.string(),
  deviceIds: z.array(z.string()),
});

answerOnce(placeSchema, async ({ port, socketPath, locationId, deviceIds }) => {
  const contexts = new Map(deviceIds.map((id) => [id, contextOf(id, locationId)]));
  const redis = new Redis({ path: socketPath, maxRetriesPerRequest: null });
  const options = { clientId: 'enricher', clean: false };
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, options);
  client.on('message', async (topic, payload) => {
    const [, deviceId = ''] = topic.split('/');
    const alarm: unknown = JSON.parse(payload.toString());
    const context = contexts.get(deviceId);
    if (!isAlarm(alarm) || context === undefined) return;
    const { id, kind, detectedAt, ...data } = alarm;
    const receivedAt = new Date().toISOString();
    const message = { id, kind, detectedAt, receivedAt, late: false, footage: [], data };
    const text = JSON.stringify({ ...message, ...context });
    await redis.xadd('alarms', '*', 'alarm', text);
    const forwarded = `care-homes/${locationId}/devices/${deviceId}/alarms/${kind}`;
    client.publish(forwarded, text, { qos: 1 });
  });
  await client.subscribeAsync('devices/+/alarms', { qos: 1 });
  return 'subscribed';
});

interface SentAlarm {
  readonly id: string;
  readonly kind: string;
  readonly detectedAt: string;
}

function isAlarm(value: unknown): value is SentAlarm {
  if (typeof value !== 'object' || value === null) return false;
  return 'id' in value && 'kind' in value && 'detectedAt' in value;
}

function contextOf(id: string, locationId: string) {
  return {
    device: { id, name: 'Bett 1' },
    location: { id: locationId, name: 'Haus am See' },
    room: null,
    group: null,
    customData: {},
  };
}
