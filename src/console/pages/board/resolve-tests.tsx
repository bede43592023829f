import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import type { ChangeAlarm } from './alarm-changes.js';
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
      {t(`Resolve all ${tests.length} tests`, `Alle ${tests.length} Tests erledigen`)}
    </button>
  );
}
