import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';

/** The parts of an exchange with the gateway that its description covers. */
export interface Exchange {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly request: { readonly mediaType: string | undefined; readonly text: string | undefined };
  readonly status: number;
  /** Header fields by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const contentSchema = z.record(z.string(), z.looseObject({ schema: z.unknown().optional() }));
const headersSchema = z.record(z.string(), z.looseObject({ $ref: z.string().optional() }));
const responseSchema = z.looseObject({
  content: contentSchema.optional(),
  headers: headersSchema.optional(),
});
const operationSchema = z.looseObject({
  // Not needed here: another test checks that each operation has one.
  operationId: z.string().optional(),
  requestBody: z
    .looseObject({ content: contentSchema, required: z.boolean().optional() })
    .optional(),
  responses: z.record(z.string(), responseSchema),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    headers: z.record(z.string(), z.looseObject({ required: z.boolean().optional() })),
  }),
});

type Operation = z.infer<typeof operationSchema>;
type Response = z.infer<typeof responseSchema>;

/** Answers to an unknown path or method, or to an invalid request. */
const STATUSES_WITHOUT_ROUTE = [400, 404, 405, 408, 426, 431];
/** A shared object, because each object has its schema compiled. */
const ANY_PROBLEM: Response = {
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};
/** Answers given before the route is known. */
const STATUSES_BEFORE_ROUTE = [408, 431];
/** Pages and their files, which no program asks for. */
const PAGE = /^\/(?:$|docs$|docs\/|console\/)/;

/** An OpenAPI format that JSON Schema does not know. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Checks answers of the gateway against its own OpenAPI document.
 *
 * The status, the content type and the header fields must be documented for the operation, and the
 * body must match the schema, without extra fields.
 */
export class DescribedHttp {
  readonly #document: z.infer<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<unknown, ValidateFunction>();
  /** By the text of the schema: most answers have the schema of problems. */
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    const parsed = documentSchema.parse(document);
    this.#document = parsed;
    addFormats.default(this.#ajv);
    this.#ajv.addFormat('base64', BASE64);
    for (const [name, schema] of Object.entries(parsed.components.schemas)) {
      this.#ajv.addSchema(closedInside(schema), `#/components/schemas/${name}`);
    }
  }

  /** @throws Error that tells how the exchange differs from the document */
  check(exchange: Exchange): void {
    const faults = this.#faultsOf(exchange);
    if (faults.length === 0) return;
    const { method, path, status, text } = exchange;
    throw new Error(
      `${method} ${path}: ${status} is not as /openapi.json says: ${faults.join('; ')}\n${text}`,
    );
  }

  #faultsOf(exchange: Exchange): string[] {
    const { method, status } = exchange;
    if (method === 'OPTIONS' && status === 204) return this.#headerFaults(exchange, ['allow']);
    if (PAGE.test(normalized(exchange.path)) && status < 400) {
      return this.#headerFaults(exchange, ['x-request-id']);
    }
    const operation = this.#operation(method, exchange.path);
    const response = operation?.responses[String(status)];
    if (operation === undefined || STATUSES_BEFORE_ROUTE.includes(status)) {
      return this.#faultsWithoutRoute(exchange);
    }
    if (response === undefined)
      return [`${operation.operationId ?? 'it'} does not answer ${status}`];
    const required = Object.entries(response.headers ?? {}).flatMap(([name, header]) =>
      this.#isRequired(header) ? [name.toLowerCase()] : [],
    );
    return [
      ...this.#headerFaults(exchange, required),
      ...this.#bodyFaults(exchange, response),
      ...this.#requestFaults(exchange, operation),
    ];
  }

  #faultsWithoutRoute(exchange: Exchange): string[] {
    if (!STATUSES_WITHOUT_ROUTE.includes(exchange.status)) return ['there is no such operation'];
    const names = exchange.status === 405 ? ['x-request-id', 'allow'] : ['x-request-id'];
    return [...this.#headerFaults(exchange, names), ...this.#bodyFaults(exchange, ANY_PROBLEM)];
  }

  /** The matching template with the fewest parameters. */
  #operation(method: string, path: string): Operation | undefined {
    const pathname = normalized(path);
    const templates = Object.keys(this.#document.paths)
      .filter((template) => isInstanceOf(template, pathname))
      .toSorted((one, other) => parametersOf(one) - parametersOf(other));
    const [found = ''] = templates;
    return this.#document.paths[found]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  }

  #isRequired({ $ref, ...header }: z.infer<typeof headersSchema>[string]): boolean {
    const component = this.#document.components.headers[$ref?.split('/').at(-1) ?? ''];
    return (component ?? header)['required'] === true;
  }

  #headerFaults({ headers }: Exchange, required: readonly string[]): string[] {
    const missing = required.filter((name) => headers[name] === undefined);
    return missing.map((name) => `the header ${name} is missing`);
  }

  #bodyFaults({ method, headers, text }: Exchange, { content = {} }: Response): string[] {
    const mediaTypes = Object.keys(content);
    if (mediaTypes.length === 0) return text === '' ? [] : ['a body is not documented'];
    const mediaType = String(headers['content-type']).split(';')[0] ?? '';
    const documented = mediaTypes.find((range) => isInRange(mediaType, range));
    if (documented === undefined) return [`the content type ${mediaType} is not documented`];
    if (method === 'HEAD') return text === '' ? [] : ['HEAD has a body'];
    return this.#jsonFaults(mediaType, text, content[documented]?.schema, 'the body');
  }

  /** Accepted requests must be documented, or generated clients cannot send them. */
  #requestFaults({ status, request }: Exchange, { requestBody }: Operation): string[] {
    if (status >= 300 || requestBody === undefined || request.text === undefined) return [];
    // A request without a body may still name a media type.
    if (request.text === '' && requestBody.required !== true) return [];
    const mediaType = request.mediaType?.split(';')[0]?.trim().toLowerCase() ?? '';
    const ranges = Object.keys(requestBody.content);
    const documented = ranges.find((range) => isInRange(mediaType, range));
    if (documented === undefined) return [`a request in ${mediaType} is not documented`];
    const { schema } = requestBody.content[documented] ?? {};
    return this.#jsonFaults(mediaType, request.text, schema, 'the request');
  }

  #jsonFaults(mediaType: string, text: string, schema: unknown, what: string): string[] {
    if (!/[/+]json$/.test(mediaType) || schema === undefined) return [];
    const validate = this.#validator(schema);
    if (validate(JSON.parse(text))) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${what}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }

  #validator(schema: unknown): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema);
    const compiled = this.#compiled.get(text) ?? this.#ajv.compile(closed(schema));
    this.#compiled.set(text, compiled);
    this.#validators.set(schema, compiled);
    return compiled;
  }
}

/** Resolves the dots in a path, as the gateway does (RFC 3986, 6.2.2.3). */
function normalized(path: string): string {
  return URL.canParse(`http://gateway${path}`) ? new URL(`http://gateway${path}`).pathname : path;
}

function isInstanceOf(template: string, pathname: string): boolean {
  const levels = template.split('/');
  const given = pathname.split('/');
  return (
    levels.length === given.length &&
    levels.every((level, index) =>
      level.startsWith('{') ? given[index] !== '' : level === given[index],
    )
  );
}

function parametersOf(template: string): number {
  return template.split('{').length - 1;
}

function isInRange(mediaType: string, range: string): boolean {
  if (range === '*/*' || range === mediaType) return true;
  return range.endsWith('/*') && mediaType.startsWith(range.slice(0, -1));
}

const objectSchema = z.record(z.string(), z.unknown());
const listSchema = z.array(z.unknown());

/**
 * Closes the objects that the document leaves open.
 *
 * Clients must tolerate future fields, but the tests must not. An `allOf` is closed as a whole, not
 * in its parts.
 */
function closed(schema: unknown): AnySchema {
  const object = objectSchema.safeParse(schema);
  if (!object.success) return z.boolean().parse(schema);
  const inside = objectSchema.parse(closedInside(schema));
  const isObject = ['$ref', 'properties', 'allOf'].some((keyword) => keyword in inside);
  return isObject && !('additionalProperties' in inside)
    ? { ...inside, unevaluatedProperties: false }
    : inside;
}

/** Closes the schemas inside, but not the schema itself. */
function closedInside(schema: unknown): AnySchema {
  const object = objectSchema.safeParse(schema);
  if (!object.success) return z.boolean().parse(schema);
  const { properties, items, allOf, anyOf, oneOf, ...rest } = object.data;
  const each = (list: unknown, change: (one: unknown) => unknown) =>
    listSchema.parse(list).map(change);
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: closedValues(properties) }),
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(allOf === undefined ? {} : { allOf: each(allOf, closedInside) }),
    ...(anyOf === undefined ? {} : { anyOf: each(anyOf, closed) }),
    ...(oneOf === undefined ? {} : { oneOf: each(oneOf, closed) }),
  };
}

function closedValues(properties: unknown): unknown {
  const entries = Object.entries(objectSchema.parse(properties));
  return Object.fromEntries(entries.map(([name, property]) => [name, closed(property)]));
}
