import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configKeys } from '../../src/config/environment.js';
import { configSchema } from '../../src/config/schema.js';
import { outputsSchema } from '../../src/domain/output-schema.js';
import { drillsSchema } from '../../src/domain/time/drill-schedule.js';
import { escalationsSchema } from '../../src/domain/time/escalations.js';
import { codeIn, PAGES, Page, rowsOf } from './page.js';

/** What must be given, so that the defaults of all else can be read. */
const NEEDED = {
  tls: { certFile: 'needed', keyFile: 'needed' },
  footage: {
    s3: {
      endpoint: 'https://s3.example.org',
      bucket: 'needed',
      accessKeyId: 'needed',
      secretAccessKey: 'needed',
    },
  },
  bridges: [{ name: 'needed', url: 'mqtt://needed' }],
};
const BRIDGES = 'bridges';

const anyObject = z.looseObject({});
const defaults = anyObject.parse(configSchema.parse(NEEDED));

function valueAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined || value === undefined) return value;
  return valueAt(anyObject.parse(value)[name], rest);
}

/** As the page writes the default of a key. */
function defaultOf(path: readonly string[]): string {
  if (valueAt(NEEDED, path) !== undefined) return 'needed';
  const value = valueAt(defaults, path);
  if (value === undefined) return 'none';
  return `\`${Array.isArray(value) ? JSON.stringify(value) : String(value)}\``;
}

/** Keys of a bridge with their defaults; `send` is chosen by another key where it is left out. */
function bridgeDefaults(): Map<string, string> {
  const [bridge] = z.array(anyObject).parse(defaults[BRIDGES]);
  const [needed = {}] = NEEDED.bridges;
  const named = Object.keys(configSchema.shape.bridges.unwrap().element.in.shape);
  return new Map(
    named.map((name) => {
      if (name in needed) return [name, 'needed'];
      const value = name === 'send' ? undefined : bridge?.[name];
      if (value === undefined) return [name, 'none'];
      return [name, `\`${Array.isArray(value) ? JSON.stringify(value) : String(value)}\``];
    }),
  );
}

/** Lists of the configuration, but for the bridges, with a section of their own. */
const LISTS = { escalations: escalationsSchema, drills: drillsSchema, outputs: outputsSchema };

/** The section of a list. */
function sectionOf(name: string, text: string): string {
  return new RegExp(`\n## ${name}\n(.*?)(?=\n## |$)`, 's').exec(text)?.[1] ?? '';
}

function documented(section: string): Map<string, string> {
  const rows = rowsOf(section);
  return new Map(rows.map(([key = '', value = '']) => [codeIn(key)[0] ?? key, value]));
}

describe('docs/operate/configuration.md', () => {
  const page = new Page('docs/operate/configuration.md');
  const [general = '', bridges = ''] = page.text.split(`\n## ${BRIDGES}\n`);

  it('has every key with its default, and no other', () => {
    const isList = (name = '') => name === BRIDGES || name in LISTS;
    const keys = configKeys(configSchema).filter(({ path }) => !isList(path[0]));
    const expected = new Map(keys.map(({ path }) => [path.join('.'), defaultOf(path)]));
    const others = Object.keys(LISTS).map((name) => sectionOf(name, general));
    const text = others.reduce((left, section) => left.replace(section, ''), general);
    expect(documented(text)).toEqual(expected);
  });

  it.each(Object.entries(LISTS))('has every key of %s', (name, schema) => {
    const { element } = schema;
    const keys = element instanceof z.ZodObject ? Object.keys(element.shape) : [];
    expect([...documented(sectionOf(name, general)).keys()]).toEqual(keys);
  });

  it('has every key of a bridge with its default, and no other', () => {
    expect(documented(bridges)).toEqual(bridgeDefaults());
  });
});

const examples = PAGES.flatMap((path) =>
  new Page(path).blocks('yaml').map((text): [string, string] => [path, text]),
);

it.each(examples)('%s shows configuration that is valid: %s', (_path, text) => {
  expect(configSchema.safeParse(parse(text)).error?.issues).toBeUndefined();
});
