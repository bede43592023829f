import { z } from 'zod';
import { describedAt, originalFetch } from '../../harness/described/described-origins.js';
import { ADMIN_TOKEN, type RunningGateway } from '../gateway/running-gateway.js';

const locationSchema = z.object({ id: z.string(), name: z.string(), devices: z.array(z.string()) });
const deviceSchema = z.object({ id: z.string(), name: z.string(), secret: z.string() });
const tokenSchema = z.object({ id: z.string(), token: z.string() });
const alarmsSchema = z.object({
  nextCursor: z.string().nullish(),
  events: z.array(
    z.object({
      id: z.string(),
      kind: z.string(),
      detectedAt: z.string(),
      footage: z.object({ video: z.string().nullable(), audio: z.string().nullable() }),
    }),
  ),
});

export type TestDevice = z.infer<typeof deviceSchema> & { readonly locationId: string };
export type TestToken = z.infer<typeof tokenSchema>;

/** The HTTP interface as an administrator uses it. */
export class Api {
  readonly #gateway: Pick<RunningGateway, 'httpUrl'>;
  readonly #token: string;

  constructor(gateway: Pick<RunningGateway, 'httpUrl'>, token: string = ADMIN_TOKEN) {
    this.#gateway = gateway;
    this.#token = token;
  }

  /** Sends a request; fails when the answer does not match the gateway's OpenAPI document. */
  async request(method: string, path: string, body?: string, contentType = 'application/json') {
    const { httpUrl } = this.#gateway;
    const described = await describedAt(httpUrl);
    const response = await originalFetch(httpUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body }),
    });
    if (described === undefined) throw new Error(`${httpUrl} has no description`);
    described.check({
      method,
      path,
      request: { mediaType: contentType, text: body },
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text: await response.clone().text(),
    });
    return response;
  }

  async json(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await this.request(
      method,
      path,
      body === undefined ? undefined : JSON.stringify(body),
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async createLocation(name = 'Haus am See') {
    return locationSchema.parse(await this.json('POST', '/care-homes', { name }));
  }

  async createDevice(locationId: string, name = 'Bett 1'): Promise<TestDevice> {
    const device = await this.json('POST', `/care-homes/${locationId}/devices`, { name });
    return { ...deviceSchema.parse(device), locationId };
  }

  async createToken(
    grants: readonly object[],
    name = 'nurse call',
    expiresAt?: string,
  ): Promise<TestToken> {
    const request = { name, grants, ...(expiresAt !== undefined && { expiresAt }) };
    return tokenSchema.parse(await this.json('POST', '/access-tokens', request));
  }

  async viewer(locationId: string): Promise<TestToken> {
    return this.createToken([{ location: locationId, role: 'viewer' }]);
  }

  async setCustomData(device: TestDevice, text: string): Promise<Response> {
    const path = `/care-homes/${device.locationId}/devices/${device.id}/custom-data`;
    return this.request('PATCH', path, text);
  }

  async alarms(device: TestDevice, query = '') {
    const path = `/care-homes/${device.locationId}/devices/${device.id}/alarms${query}`;
    return alarmsSchema.parse(await this.json('GET', path));
  }

  /** Every alarm of the device, page after page. */
  async allAlarms(device: TestDevice, query = '') {
    const events: z.infer<typeof alarmsSchema>['events'] = [];
    let cursor: string | null | undefined;
    do {
      const page = await this.alarms(device, cursor ? nextPage(query, cursor) : query);
      events.push(...page.events);
      cursor = page.nextCursor;
    } while (cursor);
    return events;
  }
}

function nextPage(query: string, cursor: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `?${parameters}`;
}
