import { getAsyncApiDocument } from '../../../api.js';
import { recordOf } from '../../../request.js';
import { type MqttPorts, USUAL_PORTS } from './setup-text.js';

/** Reads the gateway's ports for MQTT from its description. */
export async function readMqttPorts(): Promise<MqttPorts> {
  const { servers } = recordOf(await getAsyncApiDocument());
  const portOf = (name: string): number | undefined => {
    const { variables } = recordOf(recordOf(servers)[name]);
    return Number(recordOf(recordOf(variables)['port'])['default']) || undefined;
  };
  return { plain: portOf('mqtt') ?? USUAL_PORTS.plain, tls: portOf('mqtts') ?? USUAL_PORTS.tls };
}
