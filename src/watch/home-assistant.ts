/**
 * Discovery messages for Home Assistant: each device appears there by itself, with an event for its alarms and a sensor
 * for its connection (home-assistant.io/integrations/mqtt, "MQTT discovery").
 *
 * They are retained, and kept as the site is: a renamed device is announced again, and a deleted one is taken back.
 */

import type { DeliveryParts } from '../delivery/open.js';
import { ALARM_KINDS } from '../domain/alarm.js';
import type { DeviceContext } from '../domain/messages.js';
import { forwardedTopic } from '../domain/topics.js';
import type { Foundation } from '../foundation.js';
import { repeat } from '../releasers.js';
import type { SiteParts } from '../site/open.js';

const LOOK_EVERY_MS = 1_000;
const NOTHING = Buffer.alloc(0);
/** An alarm as an event of Home Assistant, whose attributes automations read. */
const EVENT_OF_ALARM =
  "{{ {'event_type': value_json.kind, 'id': value_json.id, 'detected_at': value_json.detectedAt, 'test': value_json.test | default(false)} | tojson }}";

/** Keeps the messages as the site is, until the gateway stops; takes back those of an earlier run if it is off. */
export function startDiscovery(
  { config, log, releasers, version }: Foundation,
  { changes, model }: SiteParts,
  { forwarder, retained }: DeliveryParts,
): void {
  const { discovery, prefix } = config.homeAssistant;
  let announcedAt = -1;
  const announceAll = async () => {
    if (changes.revision === announcedAt) return;
    const { revision } = changes;
    const contexts = discovery
      ? model.devices().flatMap((device) => model.context(device.id) ?? [])
      : [];
    const wanted = new Map(
      contexts.flatMap((context) =>
        entitiesOf(context).map((entity) => [
          `${prefix}/${entity.component}/${context.device.id}/${entity.object}/config`,
          { context, text: JSON.stringify({ ...entity.config, ...commonOf(context, version) }) },
        ]),
      ),
    );
    for (const message of retained.matching([`${prefix}/+/+/+/config`])) {
      if (message === undefined || wanted.has(message.topic)) continue;
      await forwarder.announce({ ...message, payload: NOTHING });
    }
    for (const [topic, { context, text }] of wanted) {
      const { location, group } = context;
      const before = retained.get(topic);
      const groupId = group?.id ?? null;
      const isSame = before?.locationId === location.id && before.groupId === groupId;
      if (isSame && before.payload.toString() === text) continue;
      const payload = Buffer.from(text);
      await forwarder.announce({ topic, payload, locationId: location.id, groupId });
    }
    announcedAt = revision;
  };
  const look = () =>
    announceAll().catch((err: unknown) => {
      log.warn({ part: 'home-assistant', err }, 'failed to announce devices, retrying');
    });
  releasers.add(repeat(look, LOOK_EVERY_MS));
}

interface Entity {
  readonly component: 'event' | 'binary_sensor';
  readonly object: string;
  readonly config: object;
}

function entitiesOf({ device, location }: DeviceContext): Entity[] {
  const topicOf = (rest: string) => forwardedTopic(location.id, device.id, rest);
  const alarm = {
    name: 'Alarm',
    unique_id: `${device.id}-alarm`,
    state_topic: topicOf('alarms/+'),
    event_types: ALARM_KINDS,
    value_template: EVENT_OF_ALARM,
    qos: 1,
  };
  const status = {
    name: 'Connection',
    unique_id: `${device.id}-status`,
    state_topic: topicOf('status'),
    value_template: "{{ 'ON' if value_json.online else 'OFF' }}",
    device_class: 'connectivity',
    entity_category: 'diagnostic',
    qos: 1,
  };
  return [
    { component: 'event', object: 'alarm', config: alarm },
    { component: 'binary_sensor', object: 'status', config: status },
  ];
}

function commonOf({ device, room, location }: DeviceContext, version: string) {
  return {
    device: {
      identifiers: [device.id],
      name: device.name,
      suggested_area: (room ?? location).name,
    },
    origin: { name: 'care-home-gateway', sw_version: version },
  };
}
