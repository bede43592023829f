import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { mosquittoPub } from '../former/clients/commands.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';

const run = promisify(execFile);

/** The options of an integrator; the libraries are the generator's own. */
const COMPILER_OPTIONS = {
  strict: true,
  noUnusedLocals: true,
  noUncheckedIndexedAccess: true,
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
};
/** Timeout of two compilers on a machine that may be busy. */
const GENERATED_WITHIN_MS = 120_000;
const preparedSchema = z.object({
  locationId: z.string(),
  id: z.string(),
  secret: z.string(),
  token: z.string(),
});

let gateway: GatewayHere;
let directory: string;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  directory = await mkdtemp(join(tmpdir(), 'gateway-client-'));
});

afterAll(async () => {
  await gateway.remove();
  await rm(directory, { recursive: true });
});

/** Generates the client in the directory, and compiles it with walk.ts, which uses it. */
async function generate(): Promise<void> {
  const document = await fetch(`${gateway.httpUrl}/openapi.json`);
  await writeFile(join(directory, 'openapi.json'), await document.text());
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  await writeFile(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS }),
  );
  await copyFile('test/contract/generated-client/walk.ts', join(directory, 'walk.ts'));
  const oazapfts = resolve('node_modules/oazapfts/dist/cli.js');
  const options = ['--useUnknown', '--argumentStyle=object'];
  await node([oazapfts, 'openapi.json', 'client.ts', ...options]);
  await node([resolve('node_modules/typescript/bin/tsc'), '-p', '.']);
}

async function node(args: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    GATEWAY_URL: gateway.httpUrl,
    ADMIN_TOKEN,
    ...more,
  };
  const { stdout } = await run(process.execPath, [...args], { cwd: directory, env });
  return stdout;
}

it('a TypeScript client generated from /openapi.json compiles, and completes the walkthrough', {
  timeout: GENERATED_WITHIN_MS,
}, async () => {
  await generate();
  const device = preparedSchema.parse(JSON.parse(await node(['walk.js', 'prepare'])));
  const alarm = '{"kind":"fall","detectedAt":"2026-11-20T10:00:00Z"}';
  const sensor = mosquittoPub(gateway, { ...device, name: '' }, 'alarms', alarm, '-q', '1');
  expect(await sensor.exit()).toBe(0);
  const { token, locationId, id } = device;
  const events = await node(['walk.js', 'history', locationId, id], { TOKEN: token });
  expect(JSON.parse(events)).toEqual([
    {
      id: expect.any(String),
      kind: 'fall',
      detectedAt: '2026-11-20T10:00:00.000Z',
      footage: { video: null, audio: null },
      state: 'raised',
    },
  ]);
});
