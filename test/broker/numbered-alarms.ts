import type { MqttClient } from 'mqtt';
import type { TestDevice } from '../former/clients/api.js';
import type { Received } from '../former/clients/mqtt-clients.js';

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Publishes numbered alarms together; resolves when each is acknowledged. */
export function publishAlarms(sensor: MqttClient, device: TestDevice, from: number, to: number) {
  const topic = `devices/${device.id}/alarms`;
  return Promise.all(
    numbers(from, to).map((number) =>
      sensor.publishAsync(topic, JSON.stringify({ kind: 'fall', number }), { qos: 1 }),
    ),
  );
}

/** Whether it is a recorded alarm, not a live copy, which a slow store causes. */
export function isRecordedAlarm({ topic, qos }: Received): boolean {
  return qos === 1 && topic.includes('/alarms/');
}

/** The numbers of the recorded alarms, in order of arrival. */
export function alarmNumbers(received: readonly Received[]): unknown[] {
  return received.filter(isRecordedAlarm).map(({ text }) => Object(JSON.parse(text)).data.number);
}
