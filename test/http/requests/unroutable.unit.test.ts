import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { answerClientError } from '../../../src/http/server/unroutable.js';

function clientError(code: string): Error {
  return Object.assign(new Error('from the parser'), { code });
}

describe('a request that the parser rejects', () => {
  const answers: Readonly<Record<string, string>> = {
    ERR_HTTP_REQUEST_TIMEOUT: 'HTTP/1.1 408 Request Timeout',
    HPE_HEADER_OVERFLOW: 'HTTP/1.1 431 Request Header Fields Too Large',
    HPE_INVALID_METHOD: 'HTTP/1.1 400 Bad Request',
  };
  for (const [code, statusLine] of Object.entries(answers)) {
    it(`is answered and its connection closed: ${code}`, async () => {
      const socket = new PassThrough();
      answerClientError(clientError(code), socket);
      const answer = await text(socket);
      expect(answer.split('\r\n')[0]).toBe(statusLine);
      expect(answer).toContain('Connection: close\r\n');
      expect(answer).toMatch(/\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r\n/);
      expect(answer).toContain('Content-Type: application/problem+json\r\n');
      expect(answer).not.toContain('from the parser');
    });
  }

  it('is answered without a body when it is visibly a HEAD request', async () => {
    const socket = new PassThrough();
    answerClientError(clientError('HPE_INVALID_URL'), Object.assign(socket, { isHead: true }));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\n$/s);
  });

  it('is not answered when the peer has gone', () => {
    const socket = new PassThrough();
    answerClientError(clientError('ECONNRESET'), socket);
    expect(socket.destroyed).toBe(true);
    expect(socket.read()).toBeNull();
  });
});
