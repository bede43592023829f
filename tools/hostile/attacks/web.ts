import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { Wire } from '../mqtt-socket.js';

const HANDSHAKES = 900;
const PIPELINED = 20;

/** Pipelines requests on each connection as fast as they are answered. */
async function pipeline(field: Field, connections: number, request: string) {
  const batch = request.repeat(PIPELINED);
  await field.repeat(connections, async (index) => {
    const wire = new Wire(field.endpoint('http', index));
    wire.socket.on('data', () => field.count('answers in bytes'));
    if (!(await wire.opened())) throw new Error('not connected');
    field.count('connected');
    while (!field.isOver && (await wire.write(batch))) {
      field.count('requests', PIPELINED);
      // Leaves the other connections their turn.
      await wire.heard();
    }
  });
}

const pipelinedHealth: Attack = {
  name: 'pipelined-health',
  finding: 'S4',
  surface: 'http',
  what: '900 connections from one address pipeline GET /healthz',
  isForMosquitto: false,
  arm: (site) => site.arms(0),
  run: (field) => pipeline(field, 900, 'GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n'),
};

const wrongTokens: Attack = {
  name: 'wrong-tokens',
  finding: 'S4',
  surface: 'http',
  what: '4,000 requests a second with wrong bearer tokens from loopback',
  isForMosquitto: false,
  arm: (site) => site.arms(0),
  run: async (field) => {
    const open = Array.from({ length: 50 }, (_, index) => index);
    const wires = new Map<number, Wire>();
    await field.atRate(4_000, (n) => {
      const index = open[n % open.length] ?? 0;
      let wire = wires.get(index);
      if (wire === undefined || !wire.isOpen) {
        wire = new Wire(field.endpoint('http', index));
        wire.socket.resume();
        wires.set(index, wire);
        field.count('connected');
      }
      // Unread requests must not fill the attacker's memory.
      if (wire.socket.writableLength > 65_536) return;
      field.count('requests');
      const token = `Bearer ${crypto.randomUUID()}`;
      wire.socket.write(
        `GET /care-homes HTTP/1.1\r\nHost: gateway\r\nAuthorization: ${token}\r\n\r\n`,
      );
    });
  },
};

/** Endless TLS handshakes, many at a time. */
function handshakes(tls: 'rsa' | 'ecdsa', listener: 'mqtts' | 'https'): Attack {
  return {
    name: `handshakes-${tls}-${listener}`,
    finding: 'S4',
    surface: 'tls',
    what: `${HANDSHAKES} TLS handshakes at a time with ${tls === 'rsa' ? 'RSA-4096' : 'ECDSA'}, over ${listener}`,
    isForMosquitto: false,
    needs: () => ({ tls }),
    arm: (site) => site.arms(0),
    run: (field) =>
      field.repeat(HANDSHAKES, async (index) => {
        const wire = new Wire(field.endpoint(listener, index));
        const isOpen = await wire.opened();
        field.count(isOpen ? 'handshakes' : 'refused');
        wire.cut();
        await wire.closed;
        if (!isOpen) await field.pause(50);
      }),
  };
}

const scraping: Attack = {
  name: 'metrics-scraping',
  finding: 'S15',
  surface: 'http',
  what: '20 connections from loopback ask for /metrics without a pause',
  isForMosquitto: false,
  arm: (site) => site.arms(0),
  run: (field) =>
    field.repeat(20, async (index) => {
      const wire = new Wire(field.endpoint('http', index));
      if (!(await wire.opened())) throw new Error('not connected');
      field.count('connected');
      while (!field.isOver && wire.isOpen) {
        wire.socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
        await wire.heard();
        field.count('answers');
      }
    }),
};

export const WEB: readonly Attack[] = [
  pipelinedHealth,
  wrongTokens,
  handshakes('rsa', 'mqtts'),
  handshakes('ecdsa', 'mqtts'),
  handshakes('rsa', 'https'),
  scraping,
];
