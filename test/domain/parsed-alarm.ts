import { parseAlarm } from '../../src/domain/alarm-payload.js';

export const deviceId = '0b8f2f0e-6c0e-4f0e-9b8e-3a6f1f6f1c11';
export const receivedAtMs = Date.parse('2026-11-21T10:00:00.000Z');

export const origin = { deviceId, kind: undefined, receivedAtMs };

export function parse(payload: unknown) {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return parseAlarm(Buffer.from(text), origin);
}

export function alarmOf(payload: unknown) {
  const result = parse(payload);
  if (!('alarm' in result)) throw new Error(`rejected: ${result.reason}`);
  return result.alarm;
}
