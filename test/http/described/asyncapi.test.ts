import { randomUUID } from 'node:crypto';
import { Parser } from '@asyncapi/parser';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asyncApiDocument } from '../../../scripts/descriptions/asyncapi-document.js';
import { openPages } from '../../../src/composition/pages.js';
import { loadConfig } from '../../../src/config/load.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { BASE64 } from '../../harness/described/described-http.js';
import { describedMqtt } from '../../harness/described/described-mqtt.js';
import { startGateway } from '../harness.js';

const redis = useRedis();

/** A newer version exists, but contract.md, 2 asks for 3.0. */
const EXPECTED = ['asyncapi-latest-version'];

it('is valid AsyncAPI 3.0, without a warning', async () => {
  const { text } = await (await startGateway(redis)).call('GET', '/asyncapi.json');
  const { document, diagnostics } = await new Parser().parse(text);
  expect(diagnostics.filter(({ code }) => !EXPECTED.includes(String(code)))).toEqual([]);
  expect(document?.version()).toBe('3.0.0');
});

const ownSchema = z.object({
  info: z.object({ version: z.string() }),
  servers: z.record(
    z.string(),
    z.object({ variables: z.object({ port: z.object({ default: z.string() }) }) }),
  ),
});

/** Every nested schema, by its path. */
function schemasIn(schema: unknown, path: string): [path: string, schema: object][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const inside = Object.entries(schema).flatMap(([key, part]) =>
    key === 'examples' ? [] : schemasIn(part, `${path}/${key}`),
  );
  const isSchema = ['type', '$ref', 'anyOf'].some((member) => member in schema);
  return isSchema ? [[path, schema], ...inside] : inside;
}

/** Whether a generator turns the schema into a class; Java has one for a union with a class in it. */
function becomesClass(schema: object): boolean {
  if ('anyOf' in schema) return JSON.stringify(schema.anyOf).includes('"$ref"');
  return 'properties' in schema || 'enum' in schema;
}

it('names the version, and the configured ports', () => {
  const env = {
    GATEWAY_MQTT_PORT: '1884',
    GATEWAY_MQTT_TLS_PORT: '8884',
    GATEWAY_HTTP_PORT: '8081',
    GATEWAY_HTTP_TLS_PORT: '8444',
  };
  const config = loadConfig({ file: undefined, env, programDir: '.', cwd: '.' });
  const pages = openPages({ config, version: '1.2.3', consoleDirectory: 'dist/console' });
  const document: unknown = JSON.parse(pages.readFilled('asyncapi.json').toString());
  const { info, servers } = ownSchema.parse(document);
  expect(info.version).toBe('1.2.3');
  const named = Object.values(servers).map(({ variables }) => variables.port.default);
  expect(named).toEqual(['1884', '8884', '8081', '8444']);
});

it('describes the properties of MQTT 5 where they are passed on', () => {
  const { messages } = asyncApiDocument().components;
  const passing = Object.entries(messages).filter(([, message]) => 'headers' in message);
  const names = 'publishedAlarm publishedMessage command deviceCommand alarm message'.split(' ');
  expect(passing.map(([name]) => name)).toEqual(names);
  for (const [, message] of passing) {
    expect(message).toMatchObject({
      bindings: { mqtt: { responseTopic: {}, correlationData: {} } },
    });
  }
});

it('names every object, enumeration and union, so that generated classes have names', () => {
  const { schemas } = asyncApiDocument().components;
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['ForwardedAlarm', 'DeviceStatus']));
  const nameless = Object.entries(schemas).flatMap(([name, schema]) =>
    schemasIn(schema, name)
      .filter(([path, part]) => path !== name && becomesClass(part))
      .map(([path]) => path),
  );
  expect(nameless).toEqual([]);
  for (const [name, schema] of Object.entries(schemas))
    expect(schema).toMatchObject({ title: name });
});

it('has an example of every JSON message, which its schema accepts', () => {
  const { components, operations } = asyncApiDocument();
  const described = Object.values(components.messages).filter((one) => 'payload' in one);
  expect(described.length).toBeGreaterThan(7);
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  ajv.addFormat('base64', BASE64);
  for (const [name, schema] of Object.entries(components.schemas)) {
    ajv.addSchema(schema, `#/components/schemas/${name}`);
  }
  for (const { name, payload, examples } of described) {
    expect(examples, name).toHaveLength(1);
    for (const example of examples ?? []) {
      const isValid = ajv.validate(payload ?? {}, JSON.parse(JSON.stringify(example.payload)));
      expect([name, example.payload, isValid, ajv.errors]).toEqual([
        name,
        example.payload,
        true,
        null,
      ]);
    }
  }
  expect(Object.keys(operations)).toHaveLength(Object.keys(components.messages).length);
});

describe('every message in the tests is checked against it, and fails', () => {
  const id = randomUUID();
  const named = { id, name: 'Bett 1' };
  const place = { device: named, location: named, room: null, group: null, customData: { bed: 1 } };
  const receivedAt = '2026-11-21T12:00:00.000Z';
  const under = `care-homes/${id}/devices/${id}`;
  const alarm = {
    id,
    kind: 'fall',
    detectedAt: receivedAt,
    receivedAt,
    late: false,
    footage: ['video'],
    ...place,
  };
  const status = { online: true, since: receivedAt, ...place };
  const check = (topic: string, json: object, qos = 1, retain = false) =>
    describedMqtt.check({ topic, text: JSON.stringify(json), qos, retain });

  it('unless it is as described', () => {
    check(`${under}/alarms/fall`, alarm);
    check(`${under}/alarms/fall`, { ...alarm, data: { more: [1] }, reportedAt: 7 }, 0);
    check(`${under}/status`, status, 1, true);
    check(`${under}/temperature/now`, { receivedAt, data: 21.5, ...place }, 0);
    check(`${under}/temperature/now`, { receivedAt, base64: 'AAE=', ...place });
    check('gateway/status', { online: true, at: receivedAt, version: '1.0.0', faults: [] });
    check(`devices/${id}/commands/lamp`, { on: true });
  });

  const { customData: _, ...withoutCustomData } = alarm;
  it.each([
    ['with a field too many', `${under}/alarms/fall`, { ...alarm, secret: 'x' }],
    ['with a field too few', `${under}/alarms/fall`, withoutCustomData],
    ['of an unknown kind', `${under}/alarms/fall`, { ...alarm, kind: 'fell' }],
    ['with a field too many inside', `${under}/status`, { ...status, device: { ...named, x: 1 } }],
    ['with both values', `${under}/t`, { receivedAt, data: 1, base64: 'AAE=', ...place }],
    ['with no value', `${under}/t`, { receivedAt, ...place }],
    ['with a time that is none', `${under}/status`, { ...status, since: 'yesterday' }],
    ['on a topic that is not described', 'gateway/secrets', status],
    ['on a topic of devices', `devices/${id}/alarms`, alarm],
  ])('%s', (_name, topic, json) => {
    expect(() => check(topic, json)).toThrow('is not as /asyncapi.json says');
  });

  it.each([
    ['at QoS 2', 2, false],
    ['retained', 1, true],
  ])('%s', (_name, qos, retain) => {
    expect(() => check(`${under}/alarms/fall`, alarm, qos, retain)).toThrow('is not as');
  });
});
