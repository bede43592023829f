/**
 * What MQTT forbids and allows in a packet, one row for each rule. `codec.test` gives each to the decoder,
 * `live.test` one of each kind to a connection.
 *
 * The bytes are hexadecimal. "…" is a text with its length before it, "x"*9 one of nine characters; behind the first
 * byte, a colon stands for the length of the packet.
 */

const STATES = ['first', 'later', 'login', 'connection'] as const;
/**
 * Who can tell that the packet is wrong: the decoder, of the first packet of a connection or of a later one; or only
 * the gateway, at a login or from what came before on the connection.
 */
type State = (typeof STATES)[number];

export interface PacketRow {
  /** Where the standard says so, and what is in the bytes. */
  readonly name: string;
  readonly version: 3 | 4 | 5;
  readonly state: State;
  readonly bytes: Buffer;
  /** The reason code of MQTT 5; undefined if the packet is right. */
  readonly code: number | undefined;
  readonly reason: string;
}

/** version | state | bytes | code | reason | clause | what it is */
const TABLE = `
4 | later | 36: "a" 0001 | 81 | unusable QoS | [MQTT-3.3.1-4] | PUBLISH at QoS 3
4 | later | 38: "a" | 81 | DUP at QoS 0 | [MQTT-3.3.1-2] | PUBLISH with DUP at QoS 0
4 | later | 39: "a" | 81 | DUP at QoS 0 | [MQTT-3.3.1-2] | PUBLISH with DUP and RETAIN at QoS 0
4 | later | 30: 0005 61 | 81 | a packet of the wrong length | 3.1.1, 1.5.3 | PUBLISH with a topic longer than itself
4 | later | 30: "" 31 | 81 | unusable topic | [MQTT-4.7.3-1] | PUBLISH on an empty topic
4 | later | 30: "a/+" 31 | 81 | unusable topic | [MQTT-3.3.2-2] | PUBLISH on a wildcard
4 | later | 30: "a/#" 31 | 81 | unusable topic | [MQTT-3.3.2-2] | PUBLISH on a multi-level wildcard
4 | later | 30: "x"*1025 31 | 81 | unusable topic | contract 5 | PUBLISH on a topic of 1,025 bytes
4 | later | 30: "x"*1024 31 | ok | | contract 5 | PUBLISH on a topic of 1,024 bytes
4 | later | 32: "a" | 81 | a packet of the wrong length | [MQTT-2.3.1-5] | PUBLISH at QoS 1 without an identifier
4 | later | 32: "a" 0000 31 | 82 | no packet identifier | [MQTT-2.3.1-1] | PUBLISH at QoS 1 under identifier 0
4 | later | 34: "a" 0000 31 | 82 | no packet identifier | [MQTT-2.3.1-1] | PUBLISH at QoS 2 under identifier 0
5 | later | 30: "a" | 81 | a packet of the wrong length | 5, 3.3.2.3 | PUBLISH without a length of properties
5 | later | 30: "a" 05 0101 | 81 | a packet of the wrong length | 5, 3.3.2.3 | PUBLISH with properties longer than itself
5 | later | 30: "a" 03 020000 | 81 | a packet of the wrong length | 5, 3.3.2.3 | PUBLISH with half a property
5 | later | 30: "a" 02 7f01 | 81 | a property that is not allowed here | 5, 2.2.2.2 | PUBLISH with an unknown property
5 | later | 30: "a" 05 1100000001 | 81 | a property that is not allowed here | 5, 2.2.2.2 | PUBLISH with a property of CONNECT
5 | later | 30: "a" 02 2401 | 81 | a property that is not allowed here | 5, 2.2.2.2 | PUBLISH with a property that only servers send
5 | later | 30: "a" 02 0b01 78 | 82 | a property that is not allowed here | [MQTT-3.3.4-6] | PUBLISH with a subscription identifier
5 | later | 30: "a" 04 01010101 | 82 | a property that is there twice | 5, 3.3.2.3.2 | PUBLISH with a payload format twice
5 | later | 30: "a" 02 0102 | 82 | a property that is neither 0 nor 1 | 5, 3.3.2.3.2 | PUBLISH with a payload format of 2
5 | later | 30: "a" 05 08 "a+" | 82 | unusable response topic | [MQTT-3.3.2-14] | PUBLISH with a wildcard as the topic of the answer
5 | later | 30: "" 00 78 | 82 | neither a topic nor an alias | [MQTT-3.3.2-8] | PUBLISH with neither a topic nor an alias
5 | later | 30: "a" 8000 78 | 81 | a length of more bytes than it takes | [MQTT-1.5.5-1] | properties with a length in too many bytes
5 | later | c0 8000 | 81 | a length of more bytes than it takes | [MQTT-1.5.5-1] | PINGREQ with a length in too many bytes
5 | connection | 30: "a" 03 230041 78 | 94 | unusable topic alias | [MQTT-3.3.2-9] | a topic alias beyond those that CONNACK allows
5 | connection | 30: "" 03 230001 78 | 82 | a topic alias that stands for no topic | 5, 3.3.2.3.4 | a topic alias that stands for nothing
5 | connection | 30 ffffff7f | 95 | packet too large | 5, 3.2.2.3.6 | PUBLISH larger than CONNACK allows
4 | connection | 30 808010 | 95 | packet too large | contract 5 | PUBLISH larger than the gateway takes
4 | connection | 30 ffffffff | 81 | a length of too many bytes | 3.1.1, 2.2.3 | a length of five bytes
4 | later | 40: | 81 | a packet of the wrong length | 3.1.1, 3.4.2 | PUBACK without an identifier
4 | later | 40: 00 | 81 | a packet of the wrong length | 3.1.1, 3.4.2 | PUBACK with half an identifier
4 | later | 40: 0001 00 | 81 | a packet of the wrong length | 3.1.1, 3.4.2 | PUBACK with a byte too many
4 | later | 40: 0000 | 82 | no packet identifier | [MQTT-2.3.1-6] | PUBACK under identifier 0
4 | later | 42: 0001 | 81 | wrong flags | [MQTT-2.2.2-2] | PUBACK with flags
5 | later | 40: 0001 00 02 0101 | 81 | a property that is not allowed here | 5, 3.4.2.2 | PUBACK with a property of PUBLISH
4 | later | 50: | 81 | a packet of the wrong length | 3.1.1, 3.5.2 | PUBREC without an identifier
5 | connection | 50: 0001 | 82 | acknowledges a QoS 2 message: none is sent | [MQTT-4.3.2-1] | PUBREC
4 | later | 62: | 81 | a packet of the wrong length | 3.1.1, 3.6.2 | PUBREL without an identifier
4 | later | 62: 00 | 81 | a packet of the wrong length | 3.1.1, 3.6.2 | PUBREL with half an identifier
4 | later | 62: 0001 00 | 81 | a packet of the wrong length | 3.1.1, 3.6.2 | PUBREL with a byte too many
4 | later | 62: 0000 | 82 | no packet identifier | [MQTT-2.3.1-6] | PUBREL under identifier 0
4 | later | 60: 0001 | 81 | wrong flags | [MQTT-3.6.1-1] | PUBREL without its flags
4 | later | 6a: 0001 | 81 | wrong flags | [MQTT-3.6.1-1] | PUBREL with DUP
3 | later | 6a: 0001 | ok | | 3.1, 2.1 | PUBREL with DUP
4 | later | 70: | 81 | a packet of the wrong length | 3.1.1, 3.7.2 | PUBCOMP without an identifier
5 | connection | 70: 0001 | 82 | acknowledges a QoS 2 message: none is sent | [MQTT-4.3.2-1] | PUBCOMP
4 | later | 80: 0001 "a" 00 | 81 | wrong flags | [MQTT-3.8.1-1] | SUBSCRIBE without its flags
4 | later | 8a: 0001 "a" 01 | 81 | wrong flags | [MQTT-3.8.1-1] | SUBSCRIBE with DUP
3 | later | 8a: 0001 "a" 01 | ok | | 3.1, 2.1 | SUBSCRIBE with DUP
4 | later | 82: 0000 "a" 01 | 82 | no packet identifier | [MQTT-2.3.1-1] | SUBSCRIBE under identifier 0
4 | later | 82: 0001 | 82 | no filters | [MQTT-3.8.3-3] | SUBSCRIBE without filters
4 | later | 82: 0001 "a" 03 | 81 | unusable QoS | [MQTT-3.8.3-4] | SUBSCRIBE at QoS 3
4 | later | 82: 0001 "a" 04 | 81 | options that are reserved | [MQTT-3.8.3-4] | SUBSCRIBE with options of version 5
4 | later | 82: 0001 "" 01 | 81 | unusable filter | [MQTT-4.7.3-1] | SUBSCRIBE to an empty filter
4 | later | 82: 0001 "a#" 01 | 81 | unusable filter | [MQTT-4.7.1-2] | SUBSCRIBE to # within a level
4 | later | 82: 0001 "a/#/b" 01 | 81 | unusable filter | [MQTT-4.7.1-2] | SUBSCRIBE to # before the last level
4 | later | 82: 0001 "a+" 01 | 81 | unusable filter | [MQTT-4.7.1-3] | SUBSCRIBE to + within a level
4 | later | 82: 0001 "x"*1025 01 | 81 | unusable filter | contract 5 | SUBSCRIBE to a filter of 1,025 bytes
5 | later | 82: 0001 00 "a" 40 | 81 | options that are reserved | [MQTT-3.8.3-5] | SUBSCRIBE with reserved options
5 | later | 82: 0001 00 "a" 30 | 82 | an unknown retain handling | 5, 3.8.3.1 | SUBSCRIBE with retain handling 3
5 | later | 82: 0001 00 "$share/a/b" 04 | 82 | a shared subscription without its own messages | [MQTT-3.8.3-4] | a shared subscription with No Local
5 | later | 82: 0001 02 0b00 "a" 00 | 82 | a property that must not be 0 | 5, 3.8.2.1.2 | SUBSCRIBE with a subscription identifier of 0
5 | later | 82: 0001 04 0b010b02 "a" 00 | 82 | a property that is there twice | 5, 3.8.2.1.2 | SUBSCRIBE with two subscription identifiers
4 | later | a0: 0001 "a" | 81 | wrong flags | [MQTT-3.10.1-1] | UNSUBSCRIBE without its flags
4 | later | aa: 0001 "a" | 81 | wrong flags | [MQTT-3.10.1-1] | UNSUBSCRIBE with DUP
3 | later | aa: 0001 "a" | ok | | 3.1, 2.1 | UNSUBSCRIBE with DUP
4 | later | a2: 0000 "a" | 82 | no packet identifier | [MQTT-2.3.1-1] | UNSUBSCRIBE under identifier 0
4 | later | a2: 0001 | 82 | no filters | [MQTT-3.10.3-2] | UNSUBSCRIBE without filters
4 | later | c0: 00 | 81 | a packet of the wrong length | 3.1.1, 3.12 | PINGREQ with a byte
4 | later | e0: 00 | 81 | a packet of the wrong length | 3.1.1, 3.14 | DISCONNECT with a byte
5 | later | e0: 00 03 210001 | 81 | a property that is not allowed here | 5, 3.14.2.2 | DISCONNECT with a receive maximum
5 | connection | e0: 00 05 110000003c | 82 | a session expiry that CONNECT did not have | 5, 3.14.2.2.2 | DISCONNECT with an expiry for a session without one
4 | later | f0: | 81 | a packet of another version | 3.1.1, 2.2.1 | AUTH before version 5
5 | later | f0: | 8c | AUTH, which is not offered | 5, 4.12 | AUTH
4 | later | 10: "MQTT" 04 02 003c "a" | 82 | a second CONNECT | [MQTT-3.1.0-2] | CONNECT on an open connection
4 | later | 10: "MQTT" 09 02 003c "a" | 82 | a second CONNECT | [MQTT-3.1.0-2] | CONNECT of an unknown level on an open connection
4 | later | 00: | 82 | a packet that only servers send | 3.1.1, 2.2.1 | a packet of type 0
4 | later | 20: 0000 | 82 | a packet that only servers send | 3.1.1, 2.2.1 | CONNACK
5 | later | 20: 0000 | 82 | a packet that only servers send | 5, 2.1.2 | CONNACK
4 | later | 90: 0001 00 | 82 | a packet that only servers send | 3.1.1, 2.2.1 | SUBACK
4 | later | b0: 0001 | 82 | a packet that only servers send | 3.1.1, 2.2.1 | UNSUBACK
4 | later | d0: | 82 | a packet that only servers send | 3.1.1, 2.2.1 | PINGRESP
4 | first | 10: "MQTX" 04 02 003c "a" | 81 | an unknown protocol name | [MQTT-3.1.2-1] | CONNECT of another protocol
4 | first | 10: "HTTP" 09 02 003c "a" | 81 | an unknown protocol name | [MQTT-3.1.2-1] | CONNECT of another protocol and level
4 | first | 10: "MQTT" 00 02 003c "a" | 84 | unacceptable protocol version | [MQTT-3.1.2-2] | CONNECT of level 0
4 | first | 10: "MQTT" 03 02 003c "a" | 84 | unacceptable protocol version | [MQTT-3.1.2-2] | CONNECT of MQTT 3.1 under the later name
4 | first | 10: "MQIsdp" 04 02 003c "a" | 84 | unacceptable protocol version | [MQTT-3.1.2-2] | CONNECT of 3.1.1 under the old name
4 | first | 10: "MQTT" 06 03 | 84 | unacceptable protocol version | [MQTT-3.1.2-2] | CONNECT of level 6, whatever else is wrong
4 | first | 10: "MQTT" 84 02 003c "a" | ok | | mosquitto.conf(5) | CONNECT of a Mosquitto bridge
4 | first | 10: "MQTT" 04 03 003c "a" | 81 | a flag that is reserved | [MQTT-3.1.2-3] | CONNECT with the reserved flag
3 | first | 10: "MQIsdp" 03 03 003c "a" | ok | | 3.1, 3.1 | CONNECT with the reserved flag
4 | first | 10: "MQTT" 04 1e 003c "a" "b" "c" | 81 | unusable QoS of the will | [MQTT-3.1.2-14] | CONNECT with a will at QoS 3
4 | first | 10: "MQTT" 04 0a 003c "a" | 82 | flags of a will that is not there | [MQTT-3.1.2-13] | CONNECT with the QoS of no will
3 | first | 10: "MQIsdp" 03 2a 003c "a" | ok | | 3.1, 3.1 | CONNECT with the QoS of no will
4 | login | 10: "MQTT" 04 06 003c "a" "" "c" | 81 | unusable topic of the will | [MQTT-4.7.3-1] | CONNECT with a will on an empty topic
4 | login | 10: "MQTT" 04 06 003c "a" "b/+" "c" | 81 | unusable topic of the will | [MQTT-3.3.2-2] | CONNECT with a will on a wildcard
4 | login | 10: "MQTT" 04 06 003c "a" "x"*1025 "c" | 81 | unusable topic of the will | contract 5 | CONNECT with a will on a topic of 1,025 bytes
4 | first | 10: "MQTT" 04 42 003c "a" "b" | 81 | a password without a user name | [MQTT-3.1.2-22] | CONNECT with a password alone
4 | first | 10: "MQTT" 04 82 003c "a" "b" "c" | 81 | bytes behind the fields of CONNECT | [MQTT-3.1.2-20] | CONNECT with a password that no flag announces
4 | first | 10: "MQTT" 04 02 003c "a" "b" | 81 | bytes behind the fields of CONNECT | [MQTT-3.1.2-18] | CONNECT with a user name that no flag announces
4 | first | 10: "MQTT" 04 02 003c "a" 00 | 81 | bytes behind the fields of CONNECT | [MQTT-3.1.4-1] | CONNECT with a byte behind its fields
5 | first | 10: "MQTT" 05 02 003c 05 2700000000 "a" | 82 | a property that must not be 0 | 5, 3.1.2.11.4 | CONNECT with a largest packet of 0 bytes
5 | first | 10: "MQTT" 05 02 003c 03 160000 "a" | 82 | authentication data without a method | 5, 3.1.2.11.10 | CONNECT with authentication data and no method
5 | first | 10: "MQTT" 05 02 003c 03 230001 "a" | 81 | a property that is not allowed here | 5, 2.2.2.2 | CONNECT with a topic alias
5 | first | 10: "MQTT" 05 02 003c 01 7f "a" | 81 | a property that is not allowed here | 5, 2.2.2.2 | CONNECT with an unknown property
5 | first | 10 8e00 0004 4d515454 05 02 003c 00 0001 61 | 81 | a length of more bytes than it takes | [MQTT-1.5.5-1] | CONNECT with a length in too many bytes
`;

export const PACKETS: readonly PacketRow[] = TABLE.trim().split('\n').map(rowOf);

/** Texts that are no UTF-8, or that MQTT forbids [MQTT-1.5.3-1] [MQTT-1.5.3-2]: hexadecimal, by what they hold. */
export const BAD_TEXTS: Readonly<Record<string, string>> = {
  'the byte FF': '78ff',
  'a surrogate': 'eda080',
  'an overlong character': 'c18178',
  'half a character': '78c3',
  'U+0000': '7800',
};

/** Texts that only look odd. */
export const ODD_TEXTS = [
  '名前',
  '\u{10ffff}',
  '\ufeffx',
  '\ufffc',
  '\ufffd',
  '\u0001',
  '__proto__',
];

/** Where a packet has a text, whose bytes stand in place of `@`. */
export const TEXT_FIELDS: readonly (readonly [string, State, string])[] = [
  ['topic', 'later', '30: @ 31'],
  ['topic', 'later', '34: @ 0001 31'],
  ['filter', 'later', '82: 0001 "a" 01 @ 01'],
  ['filter', 'later', 'a2: 0001 "a" @'],
  ['client id', 'first', '10: "MQTT" 04 02 003c @'],
  ['user name', 'first', '10: "MQTT" 04 82 003c "a" @'],
  ['topic of the will', 'first', '10: "MQTT" 04 06 003c "a" @ "c"'],
];

/** The bytes of a packet in the notation of the table. */
export function bytesOf(notation: string): Buffer {
  const [header = '', body] = notation.split(':').map((part) => part.trim());
  if (body === undefined) return Buffer.from(header.replaceAll(' ', ''), 'hex');
  const fields = Buffer.concat(body === '' ? [] : body.split(' ').map(fieldOf));
  return Buffer.concat([Buffer.from(header, 'hex'), lengthOf(fields.length), fields]);
}

/** A text as MQTT writes it. */
export function textOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function rowOf(line: string): PacketRow {
  const [version, state, bytes = '', code = '', reason = '', clause = '', name = ''] = line
    .split('|')
    .map((cell) => cell.trim());
  return {
    name: `${clause}: ${name}, MQTT ${version === '3' ? '3.1' : version === '4' ? '3.1.1' : '5'}`,
    version: version === '3' ? 3 : version === '5' ? 5 : 4,
    state: STATES.find((one) => one === state) ?? 'later',
    bytes: bytesOf(bytes),
    code: code === 'ok' ? undefined : Number.parseInt(code, 16),
    reason,
  };
}

function fieldOf(field: string): Buffer {
  const [, text, times] = /^"(.*)"(?:\*(\d+))?$/.exec(field) ?? [];
  if (text === undefined) return Buffer.from(field, 'hex');
  return textOf(Buffer.from(text.repeat(Number(times ?? 1))));
}

/** A variable byte integer (3.1.1, 2.2.3) of at most two bytes. */
function lengthOf(bytes: number): Buffer {
  return Buffer.from(bytes < 0x80 ? [bytes] : [(bytes & 0x7f) | 0x80, bytes >> 7]);
}
