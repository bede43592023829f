// Writes the keys of the configuration from its schema: the tables of docs/reference/configuration.md, and the sample
// config/gateway.yaml. `npm run api` runs it, and a test fails if this is forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [output = root] = process.argv.slice(2);
const PAGE = 'docs/reference/configuration.md';
const SAMPLE = 'config/gateway.yaml';
const COLUMNS = 100;
const HEAD = `# The configuration of the care-home gateway. Every key is shown with its default; a key that is left out
# has that default. Check a changed file with: node dist/main.js check-config --config FILE
#
# The environment wins over this file: each key is also the variable GATEWAY_ + its path in upper case, for
# example mqtt.maxPacketBytes as GATEWAY_MQTT_MAX_PACKET_BYTES. A list is JSON there.
`;

const keys = keysOf(await configSchema());
const sample = keys.map((key) => `\n${sampleOf(key, '')}`).join('');
writeFileSync(join(output, SAMPLE), `${HEAD}${sample}`);
const [before] = readFileSync(join(root, PAGE), 'utf8').split(/(?<=<!-- keys -->\n)/);
writeFileSync(join(output, PAGE), `${before}\n## General\n${tables(keys, '')}`);

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

/** A key below its description: with its default, or as a comment with an example. */
function sampleOf({ name, description, example, isList, isOptional, value, keys }, indent) {
  const words = commented(description, indent);
  if (keys === undefined) {
    const line = value === undefined ? `# ${name}: ${flow(example)}` : `${name}: ${flow(value)}`;
    return `${words}${indent}${line}\n`;
  }
  if (!isList && !isOptional) {
    const within = keys.map((key) => sampleOf(key, `${indent}  `)).join('');
    return `${words}${indent}${name}:\n${within}`;
  }
  const within = keys.map((key) => exampleOf(key, isList ? '    ' : '  ')).join('');
  // The first key of an entry comes after the dash, below its description.
  const shown = `${name}:\n${isList ? within.replace(/^ {4}(?!#)/m, '  - ') : within}`;
  const comment = shown.replaceAll(/^(?=.)/gm, `${indent}# `);
  return `${words}${isList ? `${indent}${name}: []\n` : ''}${comment}`;
}

function exampleOf({ name, description, example, value, keys }, indent) {
  const within = keys?.map((key) => exampleOf(key, `${indent}  `)).join('');
  const shown = within === undefined ? ` ${flow(example ?? value)}\n` : `\n${within}`;
  return `${commented(description, indent)}${indent}${name}:${shown}`;
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

/** A table of the keys, and one for each section and list among them. */
function tables(keys, prefix) {
  const rows = keys.flatMap(({ name, description, isNeeded, value, keys }) => {
    if (keys !== undefined) return [];
    const text = Array.isArray(value) ? JSON.stringify(value) : value;
    const shown = isNeeded ? 'needed' : text === undefined ? 'none' : `\`${text}\``;
    return `| \`${prefix}${name}\` | ${shown} | ${inMarkdown(description)} |\n`;
  });
  const sections = keys.flatMap(({ name, description, isList, keys }) => {
    if (keys === undefined) return [];
    const title = `${prefix === '' ? '##' : '###'} ${prefix}${name}`;
    const words = `${description[0].toUpperCase()}${inMarkdown(description.slice(1))}.`;
    const kind = isList ? ' A list, empty by default; each has these keys.' : '';
    const within = tables(keys, isList ? '' : `${prefix}${name}.`);
    return `\n${title}\n\n${words}${kind}\n${within}`;
  });
  const head = rows.length === 0 ? '' : '\n| key | default | what it does |\n|---|---|---|\n';
  return `${head}${rows.join('')}${sections.join('')}`;
}

function inMarkdown(text) {
  return text.replaceAll('<', '&lt;');
}
