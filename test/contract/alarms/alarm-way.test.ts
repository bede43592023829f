import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { NumberedHome } from '../../former/numbered-home.js';

/** More calls than any function gets during a start. */
const ALARMS = 1_500;
const MAX_FILES = 36;

/** The file that `NODE_V8_COVERAGE` writes when the process ends. */
const coverage = z.object({
  result: z.array(
    z.object({
      url: z.string(),
      functions: z.array(
        z.object({
          ranges: z.tuple([z.object({ startOffset: z.number(), count: z.number() })], z.unknown()),
        }),
      ),
    }),
  ),
});
const sourceMap = z.object({
  version: z.number(),
  file: z.string(),
  sources: z.array(z.string()),
  sourcesContent: z.array(z.string()),
  names: z.array(z.string()),
  mappings: z.string(),
  sourceRoot: z.string().default(''),
});

/** Finds the source file of a place in a bundle, by its source map. */
async function sourceFinder(bundle: string): Promise<(offset: number) => string | undefined> {
  const map = new SourceMap(sourceMap.parse(JSON.parse(await readFile(`${bundle}.map`, 'utf8'))));
  const lines = (await readFile(bundle, 'utf8')).split('\n');
  const starts: number[] = [];
  let start = 0;
  for (const { length } of lines) {
    starts.push(start);
    start += length + 1;
  }
  return (offset) => {
    const line = starts.findLastIndex((lineStart) => lineStart <= offset);
    const entry = map.findEntry(line, offset - (starts[line] ?? 0));
    // Code that the bundler adds, such as the getters of a chunk's exports, has no place in any source.
    const isOurs = 'originalSource' in entry && entry.generatedLine === line;
    return isOurs ? entry.originalSource : undefined;
  };
}

/** The files of `src/`, without extension, with a function that was called at least this many times. */
async function filesCalled(directory: string, times: number): Promise<string[]> {
  const files = new Set<string>();
  for (const name of await readdir(directory)) {
    const { result } = coverage.parse(JSON.parse(await readFile(join(directory, name), 'utf8')));
    // The bundler's own helpers do not come from our sources.
    for (const { url, functions } of result.filter((script) =>
      /\/dist\/(?!rolldown-runtime)[\w-]+\.js$/.test(script.url),
    )) {
      const sourceAt = await sourceFinder(fileURLToPath(url));
      for (const { ranges } of functions.filter((called) => called.ranges[0].count >= times)) {
        const [, file] = /\.\.\/src\/(.+)\.ts$/.exec(sourceAt(ranges[0].startOffset) ?? '') ?? [];
        if (file !== undefined) files.add(file);
      }
    }
  }
  return [...files].sort();
}

/** The files that docs/internals/architecture.md names in the steps of an alarm. */
async function filesDescribed(): Promise<string[]> {
  const text = await readFile('docs/internals/architecture.md', 'utf8');
  const [, section = ''] = text.split('\n## The way of an alarm\n');
  const [table = ''] = section.split('\n## ');
  const steps = table.matchAll(/^\| \d+ \| `([^`]+)\.ts`/gm);
  return Array.from(steps, ([, file = '']) => file).sort();
}

it('an alarm passes through at most 36 files from device to subscriber, all of them documented', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'alarm-way-'));
  const gateway = await GatewayProcess.start({ NODE_V8_COVERAGE: directory });
  try {
    const home = await NumberedHome.open(gateway);
    const nurse = await home.nurse('nurse');
    await nurse.subscribe(home.alarmFilter);
    for (let count = 0; count < ALARMS; count++) {
      await home.alarm();
      await nurse.untilCount(count + 1);
    }
    await home.close();
    await gateway.stop();
    const files = await filesCalled(directory, ALARMS);
    expect(files).toEqual(await filesDescribed());
    expect(files.length).toBeLessThanOrEqual(MAX_FILES);
  } finally {
    await gateway.remove();
    await rm(directory, { recursive: true });
  }
});
