/** Reads as much of a TLS ClientHello (RFC 8446, 4.1.2) as tells what its handshake will cost, and when. */

const RECORD_HEADER_BYTES = 5;
/** RFC 8446, 5.1. */
const MAX_RECORD_BYTES = 2 ** 14;
const HANDSHAKE_HEADER_BYTES = 4;
const HANDSHAKE_RECORD = 22;
const SUPPORTED_VERSIONS = 43;
const KEY_SHARE = 51;
const RANDOM_BYTES = 32;
const VERSION_BYTES = 2;
/** The named groups of `SECURE_TLS.ecdhCurve`: secp256r1 and x25519. */
const ACCEPTED_GROUPS: readonly number[] = [23, 29];

/**
 * Tells what is known of a handshake from its first bytes.
 *
 * - `incomplete`: more bytes must come first
 * - `at-once`: the server does its costly work, the signature, as soon as it has these bytes, or none at all
 * - `later`: that work comes after bytes which the client has yet to send, because the hello is spread over
 *   records or needs a HelloRetryRequest
 */
export function readClientHello(bytes: Buffer): 'incomplete' | 'at-once' | 'later' {
  // Whatever else this is, it fails at once.
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE_RECORD) return 'at-once';
  if (bytes.length < RECORD_HEADER_BYTES) return 'incomplete';
  const recordBytes = bytes.readUInt16BE(RECORD_HEADER_BYTES - 2);
  if (recordBytes > MAX_RECORD_BYTES) return 'at-once';
  const recordEnd = RECORD_HEADER_BYTES + recordBytes;
  if (bytes.length < recordEnd) return 'incomplete';
  const record = bytes.subarray(RECORD_HEADER_BYTES, recordEnd);
  if (record.length < HANDSHAKE_HEADER_BYTES) return 'later';
  const helloEnd = HANDSHAKE_HEADER_BYTES + record.readUIntBE(1, 3);
  if (record.length < helloEnd) return 'later';
  try {
    return needsRetry(record.subarray(HANDSHAKE_HEADER_BYTES, helloEnd)) ? 'later' : 'at-once';
  } catch (error) {
    // Its lengths lead beyond its end, and OpenSSL will not take it either.
    if (error instanceof RangeError) return 'at-once';
    throw error;
  }
}

/** Whether the client speaks TLS 1.3 and sends no key share that the gateway takes. */
function needsRetry(hello: Buffer): boolean {
  let at = VERSION_BYTES + RANDOM_BYTES;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at >= hello.length) return false;
  at += 2;
  let hasVersions = false;
  let hasShare = false;
  while (at < hello.length) {
    const type = hello.readUInt16BE(at);
    const end = at + 4 + hello.readUInt16BE(at + 2);
    if (type === SUPPORTED_VERSIONS) hasVersions = true;
    if (type === KEY_SHARE) hasShare = hasAcceptedShare(hello.subarray(at + 4, end));
    at = end;
  }
  return hasVersions && !hasShare;
}

function hasAcceptedShare(shares: Buffer): boolean {
  for (let at = 2; at < shares.length; at += 4 + shares.readUInt16BE(at + 2)) {
    if (ACCEPTED_GROUPS.includes(shares.readUInt16BE(at))) return true;
  }
  return false;
}
