// Writes the keys of the configuration from its schema: the tables of docs/reports/configuration.md, and the sample
// config/gateway.yaml. `npm run api` runs it, and a test fails if this is forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [output = root] = process.argv.slice(2);
const PAGE = 'docs/reports/configuration.md';
const SAMPLE = 'config/gateway.yaml';
const COLUMNS = 100;
const HEAD = `# The configuration of the care-home gateway. Every key is shown with its default; a key that is left out
# has that default. Check a changed file with: node dist/main.js check-config --config FILE
#
# The environment wins over this file: each key is also the variable GATEWAY_ + its path in upper case, for
# example mqtt.maxPacketBytes as GATEWAY_MQTT_MAX_PACKET_BYTES. A list is JSON there.
`;

const keys = keysOf(await configSchema());
writeFileSync(
  join(output, SAMPLE),
  `${HEAD}${keys.map((key) => `\n${sampleOf(key, '')}`).join('')}`,
);
const page = readFileSync(join(root, PAGE), 'utf8');
const [before] = page.split(/(?<=<!-- keys -->\n)/);
writeFileSync(join(output, PAGE), `${before}${tables(keys)}`);

async function configSchema() {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-configuration-'));
  const file = join(directory, 'schema.mjs');
  const input = join(root, 'src/config/schema.ts');
  await build({ input, platform: 'node', logLevel: 'warn', output: { file, format: 'esm' } });
  const exports = await import(pathToFileURL(file).href);
  rmSync(directory, { recursive: true });
  return exports.configSchema;
}

/** The keys of an object: name, words, default, and the keys within. */
function keysOf(schema) {
  return Object.entries(schema.def.shape).map(([name, field]) => {
    const { description, examples: [example] = [] } = field.meta() ?? {};
    if (description === undefined) throw new Error(`${name} has no description`);
    const [inner, outer] = unwrapped(field);
    const element = inner.def.type === 'array' ? unwrapped(inner.def.element)[0] : undefined;
    const object = element?.def.type === 'object' ? element : inner;
    return {
      name,
      description,
      example,
      isList: object === element,
      isOptional: outer.has('optional'),
      isNeeded: outer.size === 0 && inner.def.type !== 'object',
      value: outer.get('default')?.def.defaultValue,
      keys: object.def.type === 'object' ? keysOf(object) : undefined,
    };
  });
}

/** A schema without its wrappers, and the wrappers by type. */
function unwrapped(schema) {
  const outer = new Map();
  let inner = schema;
  while (['default', 'prefault', 'optional', 'nullable'].includes(inner.def.type)) {
    outer.set(inner.def.type, inner);
    inner = inner.def.innerType;
  }
  return inner.def.type === 'pipe' && outer.size === 0 && inner.def.in.def.type === 'object'
    ? [inner.def.in, outer]
    : [inner, outer];
}

/** A key for the sample: its description, then the key with its default, or as a comment with an example. */
function sampleOf(key, indent) {
  const { name, description, isList, isOptional, keys } = key;
  const words = commented(description, indent);
  if (isList) return `${words}${indent}${name}: []\n${asComment(listOf(key), indent)}`;
  if (keys !== undefined) {
    const within = keys.map((each) => sampleOf(each, `${indent}  `)).join('');
    return isOptional
      ? `${words}${asComment(`${name}:\n${keys.map((each) => exampleOf(each, '  ')).join('')}`, indent)}`
      : `${words}${indent}${name}:\n${within}`;
  }
  if (key.value === undefined) return `${words}${indent}# ${name}: ${flow(key.example)}\n`;
  return `${words}${indent}${name}: ${flow(key.value)}\n`;
}

/** A list with one element, as an example. */
function listOf({ name, keys }) {
  const lines = keys.map((key) => exampleOf(key, '    ')).join('');
  // The first key comes after the dash, below its description.
  return `${name}:\n${lines.replace(/^ {4}(?!#)/m, '  - ')}`;
}

function exampleOf({ name, description, example, value, keys }, indent) {
  if (keys !== undefined) {
    const within = keys.map((key) => exampleOf(key, `${indent}  `)).join('');
    return `${commented(description, indent)}${indent}${name}:\n${within}`;
  }
  return `${commented(description, indent)}${indent}${name}: ${flow(example ?? value)}\n`;
}

/** A value on one line; quotes texts that look like something else. */
function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^([A-Za-z</]|\d+\.\d+\.)[\w .:/@<>-]*$/.test(value) ? value : `'${value}'`;
}

function commented(text, indent) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (`${indent}# ${line} ${word}`.length > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `${indent}# ${line}\n`).join('');
}

function asComment(text, indent) {
  return text.replaceAll(/^(?=.)/gm, `${indent}# `);
}

/** Tables for the top-level keys, and for each section and list. */
function tables(keys) {
  const plain = keys.filter(({ keys }) => keys === undefined);
  const sections = keys.filter(({ keys }) => keys !== undefined);
  return [
    `\n## General\n\n${tableOf(plain, '')}`,
    ...sections.map((key) => sectionOf(key, '')),
  ].join('');
}

function sectionOf({ name, description, isList, keys }, prefix) {
  const path = `${prefix}${name}`;
  const inner = isList ? '' : `${path}.`;
  const plain = keys.filter(({ keys }) => keys === undefined);
  const table = plain.length === 0 ? '' : `\n${tableOf(plain, inner)}`;
  const below = keys.filter(({ keys }) => keys !== undefined).map((key) => sectionOf(key, inner));
  const kind = isList ? ' A list, empty by default; each has these keys.' : '';
  return `\n${'#'.repeat(prefix === '' ? 2 : 3)} ${path}\n\n${sentence(description)}${kind}\n${table}${below.join('')}`;
}

function tableOf(keys, prefix) {
  const rows = keys.map(({ name, description, isNeeded, value }) => {
    const shown = isNeeded ? 'needed' : value === undefined ? 'none' : `\`${shownValue(value)}\``;
    return `| \`${prefix}${name}\` | ${shown} | ${inMarkdown(description)} |\n`;
  });
  return `| key | default | what it does |\n|---|---|---|\n${rows.join('')}`;
}

function shownValue(value) {
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function sentence(text) {
  return inMarkdown(`${text[0].toUpperCase()}${text.slice(1)}.`);
}

function inMarkdown(text) {
  return text.replaceAll('<', '&lt;');
}
