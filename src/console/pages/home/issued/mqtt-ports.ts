import { ownValues } from '../../../request.js';
import type { MqttPorts } from './setup-text.js';

export async function readMqttPorts(): Promise<MqttPorts> {
  return ownValues().ports;
}
