/** Where devices reach the gateway, as typed: a host and a port. */
const HOST_AND_PORT = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/;

/** The gateway's ports for MQTT, which devices use if none is typed. */
export interface MqttPorts {
  readonly plain: number;
  readonly tls: number;
}

/** The standard ports of MQTT, if the gateway does not tell its own. */
export const USUAL_PORTS: MqttPorts = { plain: 1883, tls: 8883 };

/** Where a device reaches the gateway. */
export interface MqttAddress {
  readonly host: string;
  readonly mqttPort: number;
  readonly tls: boolean;
}

/** Reads an address as typed: a host, or a host and a port. */
export function mqttAddress(typed: string, tls: boolean, ports: MqttPorts): MqttAddress {
  const trimmed = typed.trim();
  const { host = trimmed, port } = HOST_AND_PORT.exec(trimmed)?.groups ?? {};
  const usual = tls ? ports.tls : ports.plain;
  return { host, mqttPort: port === undefined ? usual : Number(port), tls };
}

interface Setup extends MqttAddress {
  readonly deviceId: string;
  readonly secret: string;
}

/** The text of a device's QR code: a JSON object with everything that the device needs to connect. */
export function setupText({ host, mqttPort, tls, deviceId, secret }: Setup): string {
  return JSON.stringify({ host, mqttPort, tls, deviceId, secret });
}

/** Whether the name is a loopback name or address, which leads every machine to itself. */
export function isLocalAddress(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(address.trim());
}
