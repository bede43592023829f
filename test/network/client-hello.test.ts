import { once } from 'node:events';
import { createServer } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readClientHello } from '../../src/network/client-hello.js';

/** What OpenSSL, as a client, sends first. */
async function hello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' ? bound?.port : 0;
  const client = connectTls({ port, host: '127.0.0.1', ...options });
  client.on('error', () => undefined);
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  return bytes;
}

/** The hello in two records, which is permitted. */
function inTwoRecords(whole: Buffer): Buffer {
  const record = (body: Buffer) => {
    const header = Buffer.from([22, 3, 1, 0, 0]);
    header.writeUInt16BE(body.length, 3);
    return Buffer.concat([header, body]);
  };
  const body = whole.subarray(5);
  return Buffer.concat([record(body.subarray(0, 100)), record(body.subarray(100))]);
}

describe('a ClientHello', () => {
  it.each<ConnectionOptions>([{}, { maxVersion: 'TLSv1.2' }, { ecdhCurve: 'prime256v1' }])(
    'lets the server sign at once when it is complete: %o',
    async (options) => {
      const bytes = await hello(options);
      expect(readClientHello(bytes)).toBe('at-once');
      for (let length = 0; length < bytes.length; length++) {
        expect(readClientHello(bytes.subarray(0, length))).toBe('incomplete');
      }
    },
  );

  it('lets the server sign later when its key share is of a group that is not taken', async () => {
    expect(readClientHello(await hello({ ecdhCurve: 'secp384r1:prime256v1' }))).toBe('later');
  });

  it('lets the server sign later when it goes on in another record', async () => {
    expect(readClientHello(inTwoRecords(await hello({})))).toBe('later');
  });

  it('that is none, too long or damaged is left to OpenSSL at once', async () => {
    expect(readClientHello(Buffer.from('GET / HTTP/1.1\r\n'))).toBe('at-once');
    expect(readClientHello(Buffer.from([22, 3, 1, 0x40, 0]))).toBe('incomplete');
    expect(readClientHello(Buffer.from([22, 3, 1, 0x40, 1]))).toBe('at-once');
    const bytes = await hello({});
    bytes.fill(0xff, 43);
    expect(readClientHello(bytes)).toBe('at-once');
  });
});
