// A separate process that runs the embedded store and can be killed: node embedded-process.mjs DATA_DIR
// prints the socket's path once the store answers. It loads the sources, so no build is needed.
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { runnerImport } from 'vite';

const load = async (name) => {
  const file = fileURLToPath(new URL(`../../src/${name}`, import.meta.url));
  return (await runnerImport(file, { configFile: false, logLevel: 'silent' })).module;
};

const [, , dataDir] = process.argv;
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
const { EmbeddedRedis } = await load('store/embedded/embedded-redis.ts');
const embedded = new EmbeddedRedis({
  dataDir,
  maxMemoryBytes: MAX_MEMORY_BYTES,
  log: pino({ level: 'silent' }),
});
await embedded.start();
process.stdout.write(`${embedded.socketPath}\n`);
setInterval(() => undefined, 60_000);
