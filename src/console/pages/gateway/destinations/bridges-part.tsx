import { useState } from 'preact/hooks';
import { type Bridge, deleteBridge, listBridges, listDeadLetters } from '../../../api.js';
import { number, t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { type Column, List } from '../list.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { DeadLetters } from './dead-letters.js';
import { TimeOrNone, useDeadLettersColumn, useQueueColumns } from './queue-columns.js';

const removeTitle = (name: string) =>
  t(`Delete the queue of ${name}`, `Warteschlange von ${name} löschen`);

/** The kinds of a bridge's failure, `lastError.kind`. */
export const failureNames = (): Readonly<Record<string, string>> => ({
  unreachable: t('the upstream cannot be reached', 'die Gegenstelle ist nicht erreichbar'),
  closed: t(
    'the upstream has closed the connection',
    'die Gegenstelle hat die Verbindung geschlossen',
  ),
  silent: t('the upstream does not answer', 'die Gegenstelle antwortet nicht'),
  unavailable: t(
    'the upstream takes no connections now',
    'die Gegenstelle nimmt zurzeit keine Verbindungen an',
  ),
  refused: t('the upstream refuses a message', 'die Gegenstelle weist eine Nachricht ab'),
  store: t(
    'the store cannot take what comes from the upstream',
    'der Speicher kann nicht aufnehmen, was von der Gegenstelle kommt',
  ),
  tls: t(
    'no trusted TLS connection to the upstream',
    'keine vertrauenswürdige TLS-Verbindung zur Gegenstelle',
  ),
  credentials: t(
    'the upstream does not accept the credentials',
    'die Gegenstelle nimmt die Zugangsdaten nicht an',
  ),
  'client-id': t(
    'the upstream does not accept the client id',
    'die Gegenstelle nimmt die Client-ID nicht an',
  ),
  'taken-over': t(
    'another client uses the client id of the bridge',
    'ein anderer Client benutzt die Client-ID der Brücke',
  ),
  'packet-too-large': t(
    'the upstream sends packets far over the limit',
    'die Gegenstelle sendet Pakete weit über der Grenze',
  ),
  protocol: t(
    'the upstream does not speak this version of MQTT',
    'die Gegenstelle spricht diese Version von MQTT nicht',
  ),
});

/** The bridges to other brokers, with their queues. */
export function BridgesPart() {
  const bridges = useRefreshed(listBridges, []);
  const [opened, setOpened] = useState<string>();
  const [removed, setRemoved] = useState<Bridge>();
  const queueColumns = useQueueColumns();
  const deadLetters = useDeadLettersColumn(setOpened);
  const columns: readonly Column<Bridge>[] = [
    {
      head: t('Bridge', 'Brücke'),
      cell: ({ name, url }) => (
        <>
          <strong>{name}</strong> <code class="gateway-id">{url}</code>
        </>
      ),
    },
    {
      head: t('State', 'Zustand'),
      cell: (bridge) => (
        <>
          <State bridge={bridge} />{' '}
          {bridge.url === null && (
            <button type="button" class="danger" onClick={() => setRemoved(bridge)}>
              {removeTitle(bridge.name)}
            </button>
          )}
        </>
      ),
    },
    ...queueColumns,
    {
      head: t('Last acknowledged', 'Zuletzt bestätigt'),
      cell: ({ lastAcknowledgedAt }) => <TimeOrNone at={lastAcknowledgedAt} />,
    },
    {
      head: t('Last failure', 'Letzter Fehler'),
      cell: ({ lastError }) => <LastError error={lastError} />,
    },
    deadLetters,
  ];
  return (
    <>
      <List
        title={t('Bridges', 'Brücken')}
        hint={t(
          'Bridges are configured in the gateway’s file.',
          'Brücken werden in der Datei des Gateways eingerichtet.',
        )}
        loaded={bridges}
        rows={bridges.data}
        keyOf={({ name }) => name}
        columns={columns}
        textOf={({ name, url }) => `${name} ${url ?? ''}`}
        empty={t('No bridges are configured.', 'Es sind keine Brücken eingerichtet.')}
        tools={<PauseButton refreshed={bridges} />}
      />
      {opened !== undefined && (
        <DeadLetters
          name={opened}
          read={() => listDeadLetters({ name: opened })}
          onClose={() => setOpened(undefined)}
        />
      )}
      {removed !== undefined && (
        <ChangeDialog
          title={removeTitle(removed.name)}
          submit={t('Delete', 'Löschen')}
          isDangerous
          request={() => deleteBridge({ name: removed.name })}
          onDone={() => {
            setRemoved(undefined);
            bridges.again();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            {t(
              `${number(removed.queued)} messages that wait are deleted for good.`,
              `${number(removed.queued)} wartende Nachrichten werden endgültig gelöscht.`,
            )}
          </p>
        </ChangeDialog>
      )}
    </>
  );
}

function State({ bridge: { url, state, connected, connectedSince } }: { readonly bridge: Bridge }) {
  if (url === null)
    return (
      <span class="gateway-bad">
        {t('missing from the configuration', 'fehlt in der Konfiguration')}
      </span>
    );
  if (state === 'refusing')
    return (
      <span class="gateway-bad">
        {t('the upstream refuses alarms', 'die Gegenstelle weist Alarme ab')}
      </span>
    );
  if (!connected) return <span class="gateway-bad">{t('down', 'unterbrochen')}</span>;
  return (
    <span class="gateway-good">
      {t('connected', 'verbunden')}
      {connectedSince !== null && (
        <>
          , <TimeAgo at={connectedSince} />
        </>
      )}
    </span>
  );
}

function LastError({ error }: { readonly error: Bridge['lastError'] }) {
  if (error === null) return <>{t('none', 'keiner')}</>;
  return (
    <>
      {failureNames()[error.kind] ?? error.kind} ({error.detail}), <TimeAgo at={error.at} />
    </>
  );
}
