// Uploads or downloads in a separate process, so that it does not hold up the test's own clock:
// node transfer.mjs PUT <url> <bytes>, node transfer.mjs GET <url> <bytes>
import { createWriteStream } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const CHUNK = Buffer.alloc(64 * 1024, 1);
const [, , method, url, bytes] = process.argv;
const headers = method === 'PUT' ? { 'Content-Type': 'video/mp4', 'Content-Length': bytes } : {};
const sent = request(url, { method, headers });
const answered = new Promise((resolve, reject) => {
  sent.once('response', resolve);
  sent.once('error', reject);
});
if (method === 'PUT') await pipeline(Readable.from(chunks(Number(bytes))), sent);
else sent.end();
const response = await answered;
await pipeline(response, createWriteStream('/dev/null'));
const isWhole = method === 'PUT' || response.headers['content-length'] === bytes;
process.exit(response.statusCode === 200 && isWhole ? 0 : 1);

function* chunks(totalBytes) {
  for (let left = totalBytes; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
}
