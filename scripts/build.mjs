// Bundles src/ and the packages that it uses into dist/: one file loads in a quarter of the time of four
// hundred, so a killed gateway is back sooner, and users install exactly what was tested. Next to it go the Lua
// scripts, which are read as files, the files for browsers, and the packages' licences. The build also creates
// the descriptions of the interface (OpenAPI, AsyncAPI).
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';
import { build as buildConsole } from 'vite';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
/** Validation errors are in English: of zod's forty languages, only that one is loaded. */
const oneLanguage = {
  name: 'one-language',
  load: {
    filter: { id: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ },
    handler: () => "export { default as en } from './en.js';",
  },
};
const program = await build({
  cwd: root,
  input: 'src/main.ts',
  platform: 'node',
  logLevel: 'warn',
  plugins: [oneLanguage],
  output: {
    // Node.js loads CommonJS in three quarters of the time of ES modules.
    dir: dist,
    format: 'cjs',
    sourcemap: true,
    chunkFileNames: '[name].js',
    // No comments, which every start would read; but all lines and names, for stack traces in the log.
    comments: false,
    // ASCII only: a single dash in a text would make V8 keep the whole file with two bytes per character.
    minify: {
      compress: false,
      mangle: false,
      codegen: { removeWhitespace: false, asciiOnly: true },
    },
  },
});
writeFileSync(join(dist, 'package.json'), '{ "type": "commonjs" }\n');
cpSync(join(root, 'src/store/lua'), join(dist, 'lua'), { recursive: true });
const pages = await buildConsole({
  root: join(root, 'src/console'),
  configFile: false,
  logLevel: 'warn',
  // Relative, because a proxy may serve the gateway below a path.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(dist, 'console'),
    emptyOutDir: true,
    assetsDir: 'console',
    target: 'es2023',
    modulePreload: { polyfill: false },
    // A `data:` address would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    rolldownOptions: { output: { chunkFileNames } },
  },
});

const swagger = join(root, 'node_modules/swagger-ui-dist');
for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
  cpSync(join(swagger, name), join(dist, 'console/docs', name));
}
cpSync(join(root, 'scripts/descriptions/docs.html'), join(dist, 'console/docs.html'));
cpSync(join(root, 'scripts/descriptions/docs.js'), join(dist, 'console/docs/start.js'));
for (const [name, text] of Object.entries(await descriptions())) {
  writeFileSync(join(dist, 'console', name), text);
}
compress(join(dist, 'console'));
writeFileSync(join(dist, 'third-party-licenses.txt'), licenses());
writeFileSync(join(dist, 'sbom.cdx.json'), billOfMaterials());

/** A page is the file `page.tsx` of its directory, which names it. */
function chunkFileNames({ name, facadeModuleId }) {
  const page = name === 'page' ? `${basename(dirname(facadeModuleId))}-` : '';
  return `console/${page}[name]-[hash].js`;
}

/** The descriptions of the interface, by file, from the program's own routes and messages. */
async function descriptions() {
  const file = join(dist, 'descriptions.cjs');
  const input = join(root, 'scripts/descriptions/descriptions.ts');
  await build({ input, platform: 'node', logLevel: 'warn', output: { file, format: 'cjs' } });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const made = createRequire(import.meta.url)(file).descriptions(version);
  rmSync(file);
  return made;
}

/** Puts a compressed copy beside each file that gets smaller by it. */
function compress(directory) {
  for (const name of readdirSync(directory, { recursive: true })) {
    const path = join(directory, name);
    if (!statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    const compressed = gzipSync(bytes, { level: 9 });
    if (compressed.length < bytes.length) writeFileSync(`${path}.gz`, compressed);
  }
}

/** A CycloneDX list of what runs. */
function billOfMaterials() {
  const options = ['--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill = JSON.parse(execFileSync('npm', ['sbom', ...options], { cwd: root }));
  // npm uses the name of the directory.
  bill.metadata.component.name = packageIn(root).name;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** The licence of each package that has code in `dist`. */
function licenses() {
  const packages = new Set([swagger]);
  for (const { modules } of [...program.output, ...pages.output]) {
    for (const module of Object.keys(modules ?? {})) {
      const directory = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0];
      // Helpers of the bundler have names that begin with a null character.
      if (directory !== undefined) packages.add(directory.replace('\0', ''));
    }
  }
  return [...packages].map(licenseOf).sort().join('\n\n');
}

function licenseOf(directory) {
  const { name, version, license } = packageIn(directory);
  const files = readdirSync(directory).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(directory, file), 'utf8').trim());
  return [`# ${name} ${version} (${license})`, ...texts].join('\n\n');
}

function packageIn(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}
