/** Who may import whom, and which part alone knows a library: a new import that turns the direction round fails here. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, it } from 'vitest';

/** Of `src/`; `main` are the files directly in it. Every part may also import the foundation. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  mqtt: ['domain'],
  site: ['domain'],
  network: ['domain', 'site'],
  delivery: ['domain', 'mqtt', 'site'],
  ingest: ['domain', 'mqtt', 'site', 'delivery'],
  watch: ['domain', 'site', 'delivery', 'ingest'],
  store: ['domain', 'config', 'mqtt', 'site', 'delivery', 'ingest', 'watch'],
  broker: ['domain', 'mqtt', 'site', 'delivery', 'ingest', 'network'],
  bridge: ['domain', 'mqtt', 'site', 'delivery'],
  outputs: ['domain', 'site', 'delivery'],
  footage: ['domain', 'site'],
  backup: ['domain', 'config', 'store'],
  // The words of the list of connections are data, which the description of the interface quotes.
  http: ['domain', 'site', 'network', 'broker/connection-list.ts'],
  logging: ['domain', 'site', 'store'],
  metrics: ['site', 'delivery', 'ingest', 'store'],
  config: ['domain'],
  console: [],
};
/**
 * What else a part may import as types only: a caller names the class that it calls, also where the code runs the other
 * way.
 */
const MAY_IMPORT_TYPES: Readonly<Record<string, readonly string[]>> = {
  site: ['store'],
  delivery: ['store'],
  ingest: ['store'],
  watch: ['store'],
  broker: ['store'],
  bridge: ['store'],
  outputs: ['store'],
  metrics: ['bridge'],
  http: ['store', 'delivery', 'broker', 'bridge', 'outputs', 'watch', 'ingest', 'footage'],
};
/** Parts that put the others together. */
const ROOTS = ['main', 'commands'];
/** Files in `src/` for every part. */
const FOUNDATION = ['errors.js', 'foundation.js', 'releasers.js', 'files.js'];

const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['store'],
  aedes: ['broker'],
  'aedes-persistence-redis': ['store'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  mqtt: ['bridge'],
  ws: ['broker'],
  aws4fetch: ['footage'],
  '@peculiar/asn1-schema': ['network'],
  '@peculiar/asn1-x509': ['network'],
  yaml: ['config'],
  'prom-client': ['metrics', 'delivery'],
  'sonic-boom': ['logging'],
  'tar-stream': ['backup'],
};

interface Import {
  /** The part of `src/`, and the file, that imports. */
  readonly part: string;
  readonly file: string;
  /** A part of `src/`, or undefined. */
  readonly of: string | undefined;
  /** Its path in `src/`, or undefined. */
  readonly path: string | undefined;
  readonly isOfTypes: boolean;
  /** A package, or undefined. */
  readonly library: string | undefined;
}

const IMPORTS = importsIn('src');

function importsIn(root: string): Import[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => importsOf(join(root, name)));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const statements = text.matchAll(
    /^(?:import|export) (type )?[^;]*?'([^'\n]+)';|\bimport\('([^']+)'\)/gms,
  );
  return Array.from(statements, ([, type, from, later]) => {
    const name = from ?? later ?? '';
    const isOfTypes = type !== undefined;
    const part = partOf(file);
    if (!name.startsWith('.')) {
      const library = packageOf(name);
      return { part, file, of: undefined, path: undefined, isOfTypes, library };
    }
    const target = normalize(join(dirname(file), name));
    const path = relative('src', target).replace(/\.js$/, '.ts');
    return { part, file, of: partOf(target), path, isOfTypes, library: undefined };
  });
}

function partOf(file: string): string {
  const [, part = '', below] = file.split('/');
  if (FOUNDATION.includes(part.replace(/\.ts$/, '.js'))) return 'foundation';
  return below === undefined ? 'main' : part;
}

function packageOf(path: string): string {
  return path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');
}

it('imports run one way', () => {
  const wrong = IMPORTS.filter(({ part, of, path, isOfTypes }) => {
    if (of === undefined || path === undefined || of === part || of === 'foundation') return false;
    const may = [...(MAY_IMPORT[part] ?? []), ...(isOfTypes ? (MAY_IMPORT_TYPES[part] ?? []) : [])];
    return ![...ROOTS, 'foundation'].includes(part) && !may.includes(of) && !may.includes(path);
  });
  expect(wrong).toEqual([]);
});

it('one part knows each library', () => {
  const wrong = IMPORTS.filter(
    ({ part, library = '' }) => ONLY_IN[library]?.includes(part) === false,
  );
  expect(wrong).toEqual([]);
});

it('nothing in src imports the console, which is built for browsers', () => {
  expect(IMPORTS.filter(({ part, of }) => of === 'console' && part !== 'console')).toEqual([]);
});
it('tools import nothing of the tests but the harness', () => {
  const files = readdirSync('tools', { recursive: true, encoding: 'utf8' });
  const texts = files.filter((name) => name.endsWith('.ts')).map((name) => join('tools', name));
  const wrong = texts.filter((file) =>
    /'[./]+\/test\/(?!harness\/)/.test(readFileSync(file, 'utf8')),
  );
  expect(wrong).toEqual([]);
});

/** What a test from outside may know: pure rules, the codec, and the app's own route table. */
const RULES = /^(?:domain|mqtt|http\/app|http\/services)\b/;
/** Tests from outside that know more, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'wire/codec.test.ts': 'delivery/message', // encodes what a subscriber gets
  'wire/mqtt5.test.ts': 'broker/connection-list', // every reason of a denial
  'faults/lost-and-damaged.test.ts': 'store/keys', // damages keys on purpose
  'faults/stopping-and-starting.test.ts': 'store/data-directory', // holds the lock of another gateway
  'bridges/upstreams.test.ts': 'bridge/', // shortens pauses of minutes
};

it('promises know nothing of the inside but the rules and the routes', () => {
  const folders = ['promises', 'wire', 'messages', 'budgets', 'faults', 'pair', 'bridges'];
  const wrong = folders.flatMap((folder) =>
    importsFrom(folder).filter(({ file, path }) => {
      const exception = EXCEPTIONS[file];
      return !RULES.test(path) && (exception === undefined || !path.startsWith(exception));
    }),
  );
  expect(wrong).toEqual([]);
});

function importsFrom(folder: string): { readonly file: string; readonly path: string }[] {
  const files = readdirSync(join('test', folder)).filter((name) => name.endsWith('.ts'));
  return files.flatMap((name) => {
    const text = readFileSync(join('test', folder, name), 'utf8');
    return Array.from(text.matchAll(/'[./]+\/src\/([^']+)'/g), ([, path = '']) => {
      return { file: `${folder}/${name}`, path };
    });
  });
}
