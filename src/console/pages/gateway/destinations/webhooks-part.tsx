import { useState } from 'preact/hooks';
import {
  listOutputDeadLetters,
  listOutputs,
  type Output,
  sendOutputDeadLettersAgain,
} from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { type Column, List } from '../list.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { DeadLetters } from './dead-letters.js';
import { DESTINATIONS_WORDS } from './destinations-words.js';
import { useDeadLettersColumn, useQueueColumns } from './queue-columns.js';
import { WEBHOOKS_WORDS } from './webhooks-words.js';

/** The webhooks, with their queues. */
export function WebhooksPart() {
  const words = useWords(WEBHOOKS_WORDS);
  const common = useWords(DESTINATIONS_WORDS);
  const webhooks = useRefreshed(listOutputs, []);
  const [opened, setOpened] = useState<string>();
  const queueColumns = useQueueColumns();
  const deadLetters = useDeadLettersColumn(setOpened);
  const columns: readonly Column<Output>[] = [
    {
      head: words.name,
      cell: ({ name, host }) => (
        <>
          <strong>{name}</strong> <code class="gateway-id">{host}</code>
        </>
      ),
    },
    {
      head: common.state,
      cell: ({ state }) => (
        <span class={state === 'delivering' ? 'gateway-good' : 'gateway-bad'}>
          {words.states[state]}
        </span>
      ),
    },
    ...queueColumns,
    {
      head: common.lastError,
      cell: ({ lastError }) =>
        lastError === null ? (
          common.noError
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
        title={words.webhooks}
        hint={words.hint}
        loaded={webhooks}
        rows={webhooks.data}
        keyOf={({ name }) => name}
        columns={columns}
        textOf={({ name, host }) => `${name} ${host}`}
        empty={words.none}
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
