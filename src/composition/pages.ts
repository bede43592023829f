import { BuiltFiles } from '../http/built-files.js';
import type { Foundation } from './foundation.js';

/** The ports shown instead of a configured port 0, which stands for any free port. */
const USUAL_PORTS = { mqtt: 1883, mqtts: 8883, http: 8080, https: 8443 };

/**
 * Opens the files that the build made for browsers.
 *
 * @throws GatewayError `start-failed` when they are missing
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
