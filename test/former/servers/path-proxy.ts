import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** Starts a proxy that serves the gateway below a path, which it strips; it ends with the test. */
export async function startPathProxy(path: string, gatewayUrl: string): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(`${path}/`)) outgoing.writeHead(404).end();
    else pass(incoming, outgoing, gatewayUrl + incoming.url.slice(path.length));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return `http://127.0.0.1:${port}${path}`;
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, url: string): void {
  const { method, headers } = incoming;
  const passed = request(url, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  // The end of one side ends the other.
  passed.on('error', () => outgoing.destroy());
  outgoing.on('close', () => passed.destroy());
  incoming.pipe(passed);
}
