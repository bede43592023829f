/** Identifiers: UUIDs, random or derived. */

import { hash, randomUUID } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID in its usual notation, of any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** A fresh random UUID. */
export function newId(): string {
  return randomUUID();
}

/**
 * The version 5 UUID (RFC 9562, 5.5) of a name within a namespace.
 *
 * Equal namespaces and names always give the same identifier.
 * @param namespace a UUID
 */
export function derivedId(namespace: string, name: string): string {
  const digest = sha1(Buffer.concat([uuidBytes(namespace), Buffer.from(name)]));
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(digest);
}

/** The SHA-1 digest; as text first, which takes Node half as long as making a buffer. */
export function sha1(bytes: Buffer): Buffer {
  return Buffer.from(hash('sha1', bytes, 'binary'), 'binary');
}

const NINE = 0x39;
/** Where each byte of a UUID begins in its usual notation. */
const UUID_BYTE_STARTS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** The 16 bytes of a UUID; `Buffer.from` takes four times as long, and every alarm has one. */
export function uuidBytes(uuid: string): Buffer {
  const bytes = Buffer.allocUnsafe(UUID_BYTE_STARTS.length);
  let at = 0;
  for (const start of UUID_BYTE_STARTS) {
    bytes[at++] = (hexDigit(uuid, start) << 4) | hexDigit(uuid, start + 1);
  }
  return bytes;
}

function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  // `0` to `9` end in 0x0 to 0x9, letters of either case in 0x1 to 0x6.
  return code <= NINE ? code & 0x0f : (code & 0x0f) + 9;
}

/** The UUID, in its usual notation, of the first 16 bytes. */
export function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16);
  const [first, second, third] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)];
  return `${first}-${second}-${third}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
