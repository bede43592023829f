import type { Client } from 'aedes';
import type { Packet } from 'mqtt-packet';

/** The packet parser of a client: private to Aedes 1.2.0, whose version is pinned for it. */
export interface PacketParser {
  /** The packet that is being parsed; its command is null before its first byte. */
  readonly packet: { readonly length: number; readonly cmd: string | null };
  error: Error | null;
  parse(bytes: Buffer): number;
  _parseLength(): boolean;
  _emitError(error: Error): void;
  listeners(event: 'packet'): ((packet: Packet) => void)[];
  removeAllListeners(event: 'packet'): void;
  on(event: 'packet', listener: (packet: Packet) => void): void;
}

/** @throws TypeError when this is another version of Aedes */
export function parserOf(client: Client): PacketParser {
  const parser: unknown = Reflect.get(client, '_parser');
  if (isParser(parser)) return parser;
  throw new TypeError('aedes has no packet parser where version 1.2.0 has it');
}

function isParser(parser: unknown): parser is PacketParser {
  return (
    typeof parser === 'object' &&
    parser !== null &&
    ['parse', '_parseLength', '_emitError', 'listeners'].every(
      (name) => typeof Reflect.get(parser, name) === 'function',
    )
  );
}
