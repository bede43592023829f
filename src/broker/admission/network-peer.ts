import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { plainAddress } from '../../domain/addresses.js';
import type { Transport } from '../../site/access/connection-list.js';

/** Who is at the other end of a network connection. */
export interface NetworkPeer {
  readonly address: string;
  readonly transport: Transport;
}

/** @param request the HTTP request of a WebSocket */
export function peerOf(stream: Duplex, request: IncomingMessage | undefined): NetworkPeer {
  const address: unknown = Reflect.get(request?.socket ?? stream, 'remoteAddress');
  return {
    address: typeof address === 'string' ? plainAddress(address) : 'unknown',
    transport: transportOf(stream, request),
  };
}

function transportOf(stream: Duplex, request: IncomingMessage | undefined): Transport {
  if (request === undefined) return stream instanceof TLSSocket ? 'mqtts' : 'mqtt';
  return request.socket instanceof TLSSocket ? 'wss' : 'ws';
}
