import type { z } from 'zod';
import { ALARM_KINDS } from '../../src/domain/alarm.js';
import {
  bridgeStatusSchema,
  deviceInvalidPublishSchema,
  deviceStatusSchema,
  escalatedAlarmSchema,
  forwardedAlarmSchema,
  forwardedInvalidPublishSchema,
  forwardedMessageSchema,
  forwardedStateSchema,
  gatewayStatusSchema,
  homeAssistantDiscoverySchema,
  publishedAlarmSchema,
  publishedStateSchema,
  supervisionSchema,
} from './message-schemas.js';

/** A topic of docs/reference/mqtt.md, with its messages and their direction. */
export interface Channel {
  readonly address: string;
  /** The gateway's own action. */
  readonly action: 'send' | 'receive';
  readonly summary: string;
  /** The highest QoS of what the gateway sends; the recommended QoS of what it receives. */
  readonly qos: 0 | 1 | 2;
  /** Undefined if the publisher decides. */
  readonly retain?: boolean;
  /** Whether the message's MQTT 5 properties reach its receivers. */
  readonly passesProperties?: true;
  /** Undefined for any bytes. */
  readonly payload?: z.ZodType;
}

const FORWARDED = 'care-homes/{locationId}/devices/{deviceId}';

/** Every topic, by the name of its channel. */
export const CHANNELS: Readonly<Record<string, Channel>> = {
  publishedAlarm: {
    address: 'devices/{deviceId}/alarms',
    action: 'receive',
    summary: 'A device publishes an alarm. Acknowledged once it is stored.',
    qos: 1,
    passesProperties: true,
    payload: publishedAlarmSchema,
  },
  publishedMessage: {
    address: 'devices/{deviceId}/{rest}',
    action: 'receive',
    summary: 'A device publishes anything else.',
    qos: 1,
    passesProperties: true,
  },
  command: {
    address: `${FORWARDED}/commands/{rest}`,
    action: 'receive',
    summary: 'A manager gives a device a command.',
    qos: 1,
    passesProperties: true,
  },
  deviceCommand: {
    address: 'devices/{deviceId}/commands/{rest}',
    action: 'send',
    summary: 'The device gets the command, byte by byte.',
    qos: 1,
    passesProperties: true,
  },
  deviceRejection: {
    address: 'devices/{deviceId}/rejected',
    action: 'send',
    summary: 'The device is told that a publish of its own could not be used.',
    qos: 1,
    retain: false,
    payload: deviceInvalidPublishSchema,
  },
  alarm: {
    address: `${FORWARDED}/alarms/{kind}`,
    action: 'send',
    summary: 'Subscribers get an alarm. A live copy at QoS 0 while the store does not answer.',
    qos: 1,
    passesProperties: true,
    retain: false,
    payload: forwardedAlarmSchema,
  },
  publishedAlarmState: {
    address: `${FORWARDED}/alarm-states`,
    action: 'receive',
    summary: 'A responder acknowledges or resolves an alarm. Acknowledged once it is stored.',
    qos: 1,
    payload: publishedStateSchema,
  },
  alarmState: {
    address: `${FORWARDED}/alarm-states/{kind}`,
    action: 'send',
    summary: 'Subscribers are told that an alarm was acknowledged or resolved.',
    qos: 1,
    retain: false,
    payload: forwardedStateSchema,
  },
  escalation: {
    address: `${FORWARDED}/escalations/{escalation}`,
    action: 'send',
    summary: 'Nobody has acknowledged an alarm in time.',
    qos: 1,
    retain: false,
    payload: escalatedAlarmSchema,
  },
  supervision: {
    address: `${FORWARDED}/supervision`,
    action: 'send',
    summary: 'Nothing comes from a device any more, or it was heard again.',
    qos: 1,
    retain: false,
    payload: supervisionSchema,
  },
  message: {
    address: `${FORWARDED}/{rest}`,
    action: 'send',
    summary: 'Subscribers get any other message of a device.',
    qos: 1,
    passesProperties: true,
    payload: forwardedMessageSchema,
  },
  status: {
    address: `${FORWARDED}/status`,
    action: 'send',
    summary: 'A device has come or gone, or its name, place or custom data has changed.',
    qos: 1,
    retain: true,
    payload: deviceStatusSchema,
  },
  rejection: {
    address: `${FORWARDED}/rejected`,
    action: 'send',
    summary: 'Subscribers are told that a publish of a device could not be used.',
    qos: 1,
    retain: false,
    payload: forwardedInvalidPublishSchema,
  },
  gatewayStatus: {
    address: 'gateway/status',
    action: 'send',
    summary: 'Status of the gateway: every 30 s, when a fault comes or goes, and on stop.',
    qos: 1,
    retain: true,
    payload: gatewayStatusSchema,
  },
  bridgeStatus: {
    address: 'gateway/bridges/{bridge}/status',
    action: 'send',
    summary: 'Status of a bridge to another broker. For administrators.',
    qos: 1,
    retain: true,
    payload: bridgeStatusSchema,
  },
  homeAssistantDiscovery: {
    address: 'homeassistant/{component}/{deviceId}/{object}/config',
    action: 'send',
    summary:
      'How Home Assistant shows a device, with `homeAssistant.discovery`; the first level is as configured. An empty payload takes it back.',
    qos: 1,
    retain: true,
    payload: homeAssistantDiscoverySchema,
  },
};

/** Parameters of the topics. */
export const PARAMETERS: Readonly<Record<string, object>> = {
  locationId: { description: 'The id of a location.' },
  deviceId: { description: 'The id of a device.' },
  kind: { description: 'The kind of the alarm.', enum: [...ALARM_KINDS] },
  bridge: { description: 'The name of a bridge.' },
  component: { description: 'Its kind in Home Assistant.', enum: ['event', 'binary_sensor'] },
  object: { description: 'What of the device it is.', enum: ['alarm', 'status'] },
  escalation: { description: 'The name of an escalation.' },
  rest: { description: 'One to six levels; the first is none of the reserved ones.' },
};
