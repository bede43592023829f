import { describe, expect, it } from 'vitest';
import { FAILURES } from '../../src/bridge/connection-failure.js';
import { AUDIT_WORDS } from '../../src/console/pages/gateway/audit/audit-words.js';
import { DENIED_DE } from '../../src/console/pages/gateway/connections/connections-words.js';
import { BRIDGES_WORDS } from '../../src/console/pages/gateway/destinations/bridges-words.js';
import { OVERVIEW_WORDS } from '../../src/console/pages/gateway/overview/overview-words.js';
import { INVALID_PUBLISH_REASONS } from '../../src/domain/alarms.js';
import { FAULTS } from '../../src/domain/faults/fault-table.js';
import { FAULT_SUBJECTS } from '../../src/domain/faults/faults.js';
import { DENIED_REASONS } from '../../src/site/access/connection-list.js';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';

const LANGUAGES = ['en', 'de'] as const;

describe('the words of the gateway page', () => {
  it('cover every action, every denial, every reason and every failure of a bridge', () => {
    for (const language of LANGUAGES) {
      expect(Object.keys(AUDIT_WORDS[language].actions).sort()).toEqual([...AUDIT_ACTIONS].sort());
      const reasons = Object.keys(OVERVIEW_WORDS[language].reasons);
      expect(reasons.sort()).toEqual([...INVALID_PUBLISH_REASONS].sort());
      expect(Object.keys(OVERVIEW_WORDS[language].subjects)).toEqual([...FAULT_SUBJECTS]);
      const kinds = Object.keys(BRIDGES_WORDS[language].kinds);
      expect(kinds.sort()).toEqual(Object.keys(FAILURES).sort());
    }
    for (const [kind, { fault }] of Object.entries(FAILURES)) {
      for (const language of LANGUAGES) {
        const { message } = FAULTS[fault][language];
        expect(message.toLowerCase()).toContain(BRIDGES_WORDS[language].kinds[kind]?.toLowerCase());
      }
    }
    expect(Object.keys(DENIED_DE).sort()).toEqual(Object.keys(DENIED_REASONS).sort());
  });
});
