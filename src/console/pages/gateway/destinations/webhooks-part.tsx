import { useState } from 'preact/hooks';
import {
  listOutputDeadLetters,
  listOutputs,
  type Output,
  sendOutputDeadLettersAgain,
} from '../../../api.js';
import { t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { type Column, List } from '../list.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { DeadLetters } from './dead-letters.js';
import { useDeadLettersColumn, useQueueColumns } from './queue-columns.js';

const stateNames = () => ({
  delivering: t('delivering', 'stellt zu'),
  failing: t('failing', 'gestört'),
  refusing: t('refuses alarms', 'weist Alarme ab'),
});

/** The webhooks, with their queues. */
export function WebhooksPart() {
  const webhooks = useRefreshed(listOutputs, []);
  const [opened, setOpened] = useState<string>();
  const queueColumns = useQueueColumns();
  const deadLetters = useDeadLettersColumn(setOpened);
  const columns: readonly Column<Output>[] = [
    {
      head: t('Webhook', 'Webhook'),
      cell: ({ name, host }) => (
        <>
          <strong>{name}</strong> <code class="gateway-id">{host}</code>
        </>
      ),
    },
    {
      head: t('State', 'Zustand'),
      cell: ({ state }) => (
        <span class={state === 'delivering' ? 'gateway-good' : 'gateway-bad'}>
          {stateNames()[state]}
        </span>
      ),
    },
    ...queueColumns,
    {
      head: t('Last failure', 'Letzter Fehler'),
      cell: ({ lastError }) =>
        lastError === null ? (
          t('none', 'keiner')
        ) : (
          <>
            {lastError.detail}, <TimeAgo at={lastError.at} />
          </>
        ),
    },
    deadLetters,
  ];
  return (
    <>
      <List
        title={t('Webhooks', 'Webhooks')}
        hint={t(
          'Webhooks are configured in the gateway’s file, under outputs.',
          'Webhooks werden in der Datei des Gateways eingerichtet, unter outputs.',
        )}
        loaded={webhooks}
        rows={webhooks.data}
        keyOf={({ name }) => name}
        columns={columns}
        textOf={({ name, host }) => `${name} ${host}`}
        empty={t('No webhooks are configured.', 'Es sind keine Webhooks eingerichtet.')}
        tools={<PauseButton refreshed={webhooks} />}
      />
      {opened !== undefined && (
        <DeadLetters
          name={opened}
          read={() => listOutputDeadLetters({ name: opened })}
          sendAgain={() => sendOutputDeadLettersAgain({ name: opened })}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}
