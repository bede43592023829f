import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { html } from 'hono/html';
import { asyncApiDocument } from './asyncapi-document.js';
import { mqttPage, PLAIN_STYLE, plainPage, startPage } from './plain-pages.js';
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

/** The start page, the pages of both interfaces, and their files: for HTTP Swagger UI as shipped. */
export class DocsPages {
  readonly start: SharedAnswer;
  readonly http: SharedAnswer;
  readonly mqtt: SharedAnswer;
  readonly #files: ReadonlyMap<string, SharedAnswer>;

  constructor(version: string) {
    const { resolve } = createRequire(import.meta.url);
    const shipped = (name: string) => readFileSync(resolve(`swagger-ui-dist/${name}`));
    const files = new Map([
      ['swagger-ui.css', shipped('swagger-ui.css')],
      ['swagger-ui-bundle.js', shipped('swagger-ui-bundle.js')],
      ['start.js', Buffer.from(START)],
      ['plain.css', Buffer.from(PLAIN_STYLE)],
    ]);
    this.#files = new Map([...files].map(([name, bytes]) => [name, answerOf(name, bytes)]));
    const urlOf = (name: string) => `${name}?${digestOf(files.get(name) ?? '')}`;
    this.http = pageAnswer(
      httpPage(`docs/${urlOf('swagger-ui.css')}`, [
        `docs/${urlOf('swagger-ui-bundle.js')}`,
        `docs/${urlOf('start.js')}`,
      ]),
    );
    this.start = pageAnswer(startPage(`docs/${urlOf('plain.css')}`));
    this.mqtt = pageAnswer(mqttPage(asyncApiDocument(version), urlOf('plain.css')));
  }

  file(name: string): SharedAnswer | undefined {
    return this.#files.get(name);
  }
}

/** Part of a file's URL: browsers may cache the file for ever, and get a new one. */
function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

function pageAnswer(page: string): SharedAnswer {
  return new SharedAnswer(Buffer.from(page), {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': SECURITY_POLICY,
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
  });
}

function answerOf(name: string, bytes: Buffer): SharedAnswer {
  return new SharedAnswer(bytes, {
    'Content-Type': name.endsWith('.css') ? STYLE : SCRIPT,
    'Cache-Control': 'public, max-age=31536000, immutable',
  });
}

function httpPage(styleUrl: string, scriptUrls: readonly string[]): string {
  const scripts = scriptUrls.map((url) => html`<script src="${url}" defer></script>\n`);
  return plainPage(
    'Care-home gateway: the HTTP interface',
    styleUrl,
    html`${scripts}<div id="interface"></div>
<noscript>This page needs JavaScript; the interface is described in <a href="openapi.json">openapi.json</a>.</noscript>`,
  );
}
