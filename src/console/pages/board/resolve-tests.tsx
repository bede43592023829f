import { useConsole, useWords } from '../../console-parts.js';
import type { ChangeAlarm } from './alarm-changes.js';
import { BOARD_WORDS } from './board-words.js';
import type { DelayedResolves } from './delayed-resolves.js';
import type { OpenAlarm } from './open-alarm.js';

interface ResolveTestsProps {
  readonly shown: readonly OpenAlarm[];
  readonly change: ChangeAlarm;
  readonly resolves: DelayedResolves;
}

/** Resolves all test alarms together, if there are several. */
export function ResolveTests({ shown, change, resolves }: ResolveTestsProps) {
  const { session } = useConsole();
  const words = useWords(BOARD_WORDS);
  const tests = shown.filter(
    ({ key, isTest, location, group }) =>
      isTest &&
      !resolves.states.value.has(key) &&
      session.may('responder', location.id, group?.id ?? null),
  );
  if (tests.length < 2) return null;
  const resolveAll = () => {
    for (const alarm of tests) void change({ alarm, state: 'resolved', note: '' });
  };
  return (
    <button type="button" onClick={resolveAll}>
      {words.resolveTests(tests.length)}
    </button>
  );
}
