import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FAILURES } from '../../src/bridge/connection-failure.js';
import { AUDIT_WORDS } from '../../src/console/pages/gateway/audit-words.js';
import { BRIDGES_WORDS } from '../../src/console/pages/gateway/bridges-words.js';
import { DENIED_DE } from '../../src/console/pages/gateway/connections-words.js';
import { explainFault } from '../../src/console/pages/gateway/explain-fault.js';
import { FAULTS_DE } from '../../src/console/pages/gateway/faults-de.js';
import { FAULTS_EN } from '../../src/console/pages/gateway/generated-faults.js';
import { OVERVIEW_WORDS } from '../../src/console/pages/gateway/overview-words.js';
import { INVALID_PUBLISH_REASONS } from '../../src/domain/alarms.js';
import { FAULT_SUBJECTS } from '../../src/domain/faults.js';
import { DENIED_REASONS } from '../../src/site/access/connection-list.js';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';

const LANGUAGES = ['en', 'de'] as const;
const TABLE = 'src/console/pages/gateway/generated-faults.ts';

describe('the words of the gateway page', () => {
  it('are for faults those of docs/troubleshooting.md', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-faults-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'faults.ts');
    await promisify(execFile)(process.execPath, ['scripts/faults.mjs', file]);
    expect(await readFile(TABLE, 'utf8')).toBe(await readFile(file, 'utf8'));
  });

  it('fill in every part of a fault that changes, in German, too', () => {
    for (const [name, { fault }] of Object.entries(FAULTS_DE)) {
      const parts = name.split('…').length - 1;
      const filled = [...fault.matchAll(/\{(\d)\}/g)].map(([, index]) => Number(index));
      expect(filled.every((index) => index < parts)).toBe(true);
    }
    const slowed = 'A device is slowed to its limit of 50 messages a second';
    expect(explainFault(slowed, 'de')[0]?.text).toBe(
      'Ein Gerät wird auf seine Grenze von 50 Nachrichten je Sekunde gebremst',
    );
    expect(explainFault(slowed, 'en')[0]).toMatchObject({ text: slowed });
    const others = 'too many subscriptions, further ones are refused (4 more)';
    expect(explainFault(others, 'en')[0]).toEqual({ text: others, advice: expect.any(String) });
    expect(explainFault(others, 'de')[0]?.text).toBe(
      'Zu viele Abonnements, weitere werden abgewiesen (4 weitere)',
    );
  });

  it('know every fault of docs/troubleshooting.md by what stands in the place of …', () => {
    for (const name of Object.keys(FAULTS_EN)) {
      const said = name.replaceAll('…', 'X1');
      for (const language of LANGUAGES) {
        const explained = explainFault(said, language);
        expect(explained).toHaveLength(1);
        expect(explained[0]?.advice).toBeDefined();
        expect(explained[0]?.text).not.toMatch(/\{\d\}/);
      }
    }
  });

  it('take apart several faults in one sentence each, and show an unknown one as it is', () => {
    const two = 'The store is slow. Audit records cannot be exported to the disk.';
    expect(explainFault(two, 'de').map(({ text }) => text)).toEqual([
      'Der Speicher ist langsam.',
      'Einträge des Protokolls können nicht auf die Platte exportiert werden.',
    ]);
    expect(explainFault('Something new.', 'de')).toEqual([
      { text: 'Something new.', advice: undefined },
    ]);
  });

  it('cover every action, every denial, every reason and every failure of a bridge', () => {
    for (const language of LANGUAGES) {
      expect(Object.keys(AUDIT_WORDS[language].actions).sort()).toEqual([...AUDIT_ACTIONS].sort());
      const reasons = Object.keys(OVERVIEW_WORDS[language].reasons);
      expect(reasons.sort()).toEqual([...INVALID_PUBLISH_REASONS].sort());
      expect(Object.keys(OVERVIEW_WORDS[language].subjects)).toEqual([...FAULT_SUBJECTS]);
      const kinds = Object.keys(BRIDGES_WORDS[language].kinds);
      expect(kinds.sort()).toEqual(Object.keys(FAILURES).sort());
    }
    for (const [kind, { words }] of Object.entries(FAILURES)) {
      expect(BRIDGES_WORDS.en.kinds[kind]).toBe(words);
    }
    expect(Object.keys(DENIED_DE).sort()).toEqual(Object.keys(DENIED_REASONS).sort());
  });
});
