import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { SharedAnswer } from './shared-answer.js';

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** The script that starts the page. A `validatorUrl` would send the document's address to another host. */
const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  validatorUrl: null,
});
`;

/**
 * Limits what the page may load: the gateway's own files and answers, and pictures within the style
 * sheet. Other hosts are out of reach, whatever the document or the scripts say.
 */
const SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page at `/docs` and its files: Swagger UI as shipped. */
export class DocsPage {
  readonly page: SharedAnswer;
  readonly #files: ReadonlyMap<string, SharedAnswer>;

  constructor() {
    const { resolve } = createRequire(import.meta.url);
    const shipped = (name: string) => readFileSync(resolve(`swagger-ui-dist/${name}`));
    const files = new Map([
      ['swagger-ui.css', shipped('swagger-ui.css')],
      ['swagger-ui-bundle.js', shipped('swagger-ui-bundle.js')],
      ['start.js', Buffer.from(START)],
    ]);
    this.#files = new Map([...files].map(([name, bytes]) => [name, answerOf(name, bytes)]));
    const elements = [...files].map(([name, bytes]) => elementOf(name, bytes));
    this.page = new SharedAnswer(Buffer.from(pageOf(elements)), {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    });
  }

  file(name: string): SharedAnswer | undefined {
    return this.#files.get(name);
  }
}

/** The element that loads a file, by its digest: browsers may cache it for ever, and get a new one. */
function elementOf(name: string, bytes: Buffer): string {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const url = `docs/${name}?${digest}`;
  return name.endsWith('.css')
    ? `<link rel="stylesheet" href="${url}">`
    : `<script src="${url}" defer></script>`;
}

function answerOf(name: string, bytes: Buffer): SharedAnswer {
  return new SharedAnswer(bytes, {
    'Content-Type': name.endsWith('.css') ? STYLE : SCRIPT,
    'Cache-Control': 'public, max-age=31536000, immutable',
  });
}

function pageOf(elements: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Care-home gateway: the HTTP interface</title>
<link rel="icon" href="data:,">
${elements.join('\n')}
</head>
<body>
<div id="interface"></div>
<noscript>This page needs JavaScript; the interface is described in <a href="openapi.json">openapi.json</a>.</noscript>
</body>
</html>
`;
}
