import { listSessions, type StoredSession } from '../../../api.js';
import { number, t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';

/** The persistent sessions with the largest backlogs. */
export function SessionList() {
  const names = useNames();
  const sessions = useRefreshed(listSessions, []);
  const columns: readonly Column<StoredSession>[] = [
    { head: t('Who', 'Wer'), cell: ({ principal }) => <PrincipalName {...principal} /> },
    {
      head: t('Client id', 'Client-ID'),
      cell: ({ clientId }) => <code class="gateway-id">{clientId}</code>,
    },
    { head: t('State', 'Zustand'), cell: (session) => <State session={session} /> },
    {
      head: t('Waiting alarms', 'Wartende Alarme'),
      cell: ({ backlog: { alarms } }) => (
        <span class={alarms > 0 ? 'gateway-waiting' : ''}>{number(alarms)}</span>
      ),
    },
    {
      head: t('Other waiting messages', 'Andere wartende Nachrichten'),
      cell: ({ backlog }) => number(backlog.messages),
    },
    {
      head: t('Oldest waiting', 'Älteste wartende'),
      cell: ({ oldestQueuedAt }) =>
        oldestQueuedAt === null ? '–' : <TimeAgo at={oldestQueuedAt} />,
    },
  ];
  const { data } = sessions;
  return (
    <List
      title={t('For whom something waits', 'Auf wen etwas wartet')}
      hint={t(
        'Persistent sessions, connected or away: those with the most waiting alarms first. 100 at most are shown.',
        'Dauerhafte Sitzungen, verbunden oder nicht: zuerst die mit den meisten wartenden Alarmen. Höchstens 100 werden angezeigt.',
      )}
      loaded={sessions}
      rows={data?.sessions}
      keyOf={({ principal, clientId }) => `${principal.type} ${principal.id} ${clientId}`}
      columns={columns}
      textOf={({ clientId, principal: { id } }) =>
        `${clientId} ${id} ${names.tokens.value.get(id) ?? names.devices.value.get(id) ?? ''}`
      }
      empty={t('There are no persistent sessions.', 'Es gibt keine dauerhaften Sitzungen.')}
      tools={<PauseButton refreshed={sessions} />}
      foot={
        data !== undefined &&
        data.total > 0 && (
          <p class="hint">
            {t(
              `${data.sessions.length} of ${data.total} persistent sessions`,
              `${data.sessions.length} von ${data.total} dauerhaften Sitzungen`,
            )}
          </p>
        )
      }
    />
  );
}

function State({ session: { connected, awaySince } }: { readonly session: StoredSession }) {
  if (connected) return <span class="gateway-good">{t('connected', 'verbunden')}</span>;
  return (
    <span class="gateway-bad">
      {t('away', 'nicht verbunden')}
      {awaySince !== null && (
        <>
          , <TimeAgo at={awaySince} />
        </>
      )}
    </span>
  );
}
