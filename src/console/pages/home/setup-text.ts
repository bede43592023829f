/** Where devices reach the gateway, as it is typed: a host, or a host and a port. */
const HOST_AND_PORT = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/;

/** What a device needs to know to connect. */
interface Setup {
  readonly address: string;
  readonly deviceId: string;
  readonly secret: string;
}

/**
 * The text of a device's QR code: a JSON object with `host`, `mqttPort` where one was given, `deviceId` and
 * `secret`.
 *
 * JSON rather than an `mqtt:` address, which would claim a port and the absence of TLS that the console does
 * not know.
 */
export function setupText({ address, deviceId, secret }: Setup): string {
  const trimmed = address.trim();
  const { host = trimmed, port } = HOST_AND_PORT.exec(trimmed)?.groups ?? {};
  const mqttPort = port === undefined ? {} : { mqttPort: Number(port) };
  return JSON.stringify({ host, ...mqttPort, deviceId, secret });
}

/** Whether the name leads every machine to itself. */
export function isLocalAddress(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(address.trim());
}
