import { BuiltFiles } from '../http/built-files.js';
import type { Foundation } from './foundation.js';

/** Of a configured port 0, which stands for a free one, the usual one is shown. */
const USUAL_PORTS = { mqtt: 1883, mqtts: 8883, http: 8080, https: 8443 };

/**
 * Opens what the build made for browsers.
 *
 * @throws GatewayError `start-failed` when it is not there
 */
export function openPages({
  config,
  version,
  consoleDirectory,
}: Pick<Foundation, 'config' | 'version' | 'consoleDirectory'>): BuiltFiles {
  const { mqtt, http } = config;
  return new BuiltFiles(consoleDirectory, {
    VERSION: version,
    SERVER_URL: http.publicUrl ?? '/',
    MQTT_PORT: String(mqtt.port || USUAL_PORTS.mqtt),
    MQTTS_PORT: String(mqtt.tlsPort || USUAL_PORTS.mqtts),
    HTTP_PORT: String(http.port || USUAL_PORTS.http),
    HTTPS_PORT: String(http.tlsPort || USUAL_PORTS.https),
  });
}
