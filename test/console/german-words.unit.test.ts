import { expect, it } from 'vitest';
import { BOARD_WORDS } from '../../src/console/pages/board/board-words.js';
import { WALL_LINK_WORDS } from '../../src/console/pages/board/wall/wall-link-words.js';
import { AUDIT_WORDS } from '../../src/console/pages/gateway/audit/audit-words.js';
import { CONNECTIONS_WORDS } from '../../src/console/pages/gateway/connections/connections-words.js';
import { BRIDGES_WORDS } from '../../src/console/pages/gateway/destinations/bridges-words.js';
import { GATEWAY_WORDS } from '../../src/console/pages/gateway/gateway-words.js';
import { OVERVIEW_WORDS } from '../../src/console/pages/gateway/overview/overview-words.js';
import { TOKENS_WORDS } from '../../src/console/pages/gateway/tokens/tokens-words.js';
import { HISTORY_WORDS } from '../../src/console/pages/history/history-words.js';
import { DEVICE_WORDS } from '../../src/console/pages/home/device/device-words.js';
import { HOME_WORDS } from '../../src/console/pages/home/home-words.js';
import { IMPORT_WORDS } from '../../src/console/pages/home/import/import-words.js';
import { ISSUED_WORDS } from '../../src/console/pages/home/issued/issued-words.js';
import { SIGN_IN_WORDS } from '../../src/console/pages/sign-in/sign-in-words.js';
import { SHELL_WORDS } from '../../src/console/shell-words.js';

/** What a gateway or broker acknowledges (bestätigt); people acknowledge (quittieren) alarms and faults. */
const OF_OTHERS = [BRIDGES_WORDS];
const ALL = [
  AUDIT_WORDS,
  BOARD_WORDS,
  CONNECTIONS_WORDS,
  DEVICE_WORDS,
  GATEWAY_WORDS,
  HISTORY_WORDS,
  HOME_WORDS,
  IMPORT_WORDS,
  ISSUED_WORDS,
  OVERVIEW_WORDS,
  SHELL_WORDS,
  SIGN_IN_WORDS,
  TOKENS_WORDS,
  WALL_LINK_WORDS,
];

interface Pair {
  readonly en: string;
  readonly de: string;
}

/** The texts of a dictionary in pairs; texts with placeholders are filled with the same in both. */
function pairsOf(en: unknown, de: unknown): Pair[] {
  if (typeof en === 'string' && typeof de === 'string') return [{ en, de }];
  if (typeof en === 'function' && typeof de === 'function') return pairsOf(en('1'), de('1'));
  if (typeof en !== 'object' || typeof de !== 'object' || en === null || de === null) return [];
  const german = new Map<string, unknown>(Object.entries(de));
  return Object.entries(en).flatMap(([name, words]) => pairsOf(words, german.get(name)));
}

const pairs = ALL.flatMap(({ en, de }) => pairsOf(en, de)).filter(
  // A publish of a device.
  ({ en }) => !/it was acknowledged, and became no alarm/.test(en),
);

it.each([
  [/\backnowledge/i, /quittier/i],
  [/\bresolve/i, /erledig/i],
  [/\braised?$/i, /ausgelöst/i],
  [/\bsecrets?\b/i, /Geheimnis/],
  [/\baccess tokens?\b/i, /Zugangstoken/],
  [/\bcustom data\b/i, /[Ee]igene Daten/],
])('uses the same German word wherever the English has %s', (english, german) => {
  const found = pairs.filter(({ en }) => english.test(en));
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter(({ de }) => !german.test(de))).toEqual([]);
});

it('says “confirm” in German for acknowledging anything but an alarm', () => {
  const texts = OF_OTHERS.flatMap(({ en, de }) => pairsOf(en, de));
  const found = texts.filter(({ en }) => /\backnowledge/i.test(en));
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter(({ de }) => !/bestätig/i.test(de))).toEqual([]);
});
