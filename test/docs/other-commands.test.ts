import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { commandsOf, isRun, NOT_RUN } from './commands.js';
import { PAGES, Page } from './page.js';

describe('the commands that no test runs', () => {
  const all = PAGES.flatMap((path) => new Page(path).blocks('sh'));
  const others = all.filter((block) => !isRun(block));

  it('are all listed, with the reason why they are not run', () => {
    for (const beginning of NOT_RUN.keys()) {
      expect(others.filter((block) => block.startsWith(beginning))).toHaveLength(1);
    }
    const runs = PAGES.filter((path) => commandsOf(path).length > 0);
    expect(runs.toSorted()).toEqual([
      'README.md',
      'docs/guide/clients.md',
      'docs/guide/nurse-call.md',
      'docs/guide/sensors.md',
      'docs/operate/audit.md',
      'docs/operate/bridges.md',
      'docs/operate/configuration.md',
      'docs/operate/footage.md',
      'docs/operate/install.md',
      'docs/operate/roles.md',
      'docs/reference/guarantees.md',
      'docs/reference/http.md',
      'docs/reference/mqtt.md',
    ]);
  });

  it.each(others)('are valid in bash: %s', (block) => {
    expect(spawnSync('bash', ['-n'], { input: block, encoding: 'utf8' }).stderr).toBe('');
  });

  it.each(others)('refer to existing files and scripts: %s', (block) => {
    const files = block.match(/(?<=\s)(?:systemd|config|test)\/[\w./-]+/g) ?? [];
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync('package.json', 'utf8')));
    const named = [...block.matchAll(/npm run ([a-z]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
