/** Where messages go besides to clients: the bridges and the webhooks, their queues, and what they never delivered. */

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import {
  type Bridge,
  type DeadLetter,
  type DeadLettersSentAgain,
  deleteBridge,
  listBridges,
  listDeadLetters,
  listOutputDeadLetters,
  listOutputs,
  type Output,
  sendOutputDeadLettersAgain,
} from '../api.js';
import { number, t } from '../language.js';
import { FailureText, Since, TimeAgo } from '../ui/bits.js';
import { ChangeDialog, Dialog, openDialog } from '../ui/dialog.js';
import { type Column, List } from '../ui/list.js';
import { REFRESHED, useChange, useLoaded } from '../ui/load.js';
import { Payload } from './named.js';

type Destination = Pick<
  Bridge & Output,
  'name' | 'queued' | 'oldestQueuedAt' | 'delivered' | 'dropped'
>;

/** The bridges to other brokers. */
export function Bridges() {
  const bridges = useLoaded(listBridges, [], REFRESHED);
  return (
    <List
      title={t('Bridges', 'Brücken')}
      hint={t(
        'Bridges are configured in the gateway’s file.',
        'Brücken werden in der Datei des Gateways eingerichtet.',
      )}
      loaded={bridges}
      rows={bridges.data}
      keyOf={({ name }) => name}
      textOf={({ name, url }) => `${name} ${url ?? ''}`}
      empty={t('No bridges are configured.', 'Es sind keine Brücken eingerichtet.')}
      columns={[
        [t('Bridge', 'Brücke'), ({ name, url }) => <Named name={name} at={url} />],
        [
          t('State', 'Zustand'),
          (bridge) => <BridgeState bridge={bridge} onDeleted={bridges.again} />,
        ],
        ...queueColumns(),
        [
          t('Last acknowledged', 'Zuletzt bestätigt'),
          ({ lastAcknowledgedAt }) => when(lastAcknowledgedAt),
        ],
        [
          t('Last failure', 'Letzter Fehler'),
          ({ lastError: error }) => (
            <LastFailure at={error?.at} text={error === null ? undefined : failureText(error)} />
          ),
        ],
        deadLettersColumn((name) => (
          <DeadLetters name={name} read={() => listDeadLetters({ name })} />
        )),
      ]}
    />
  );
}

/** The kinds of a bridge's failure. */
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

function failureText({ kind, detail }: NonNullable<Bridge['lastError']>): string {
  return `${failureNames()[kind] ?? kind} (${detail})`;
}

interface BridgeStateProps {
  readonly bridge: Bridge;
  readonly onDeleted: () => void;
}

function BridgeState({ bridge, onDeleted }: BridgeStateProps) {
  const { name, url, state, connected, connectedSince } = bridge;
  if (url === null) {
    const title = t(`Delete the queue of ${name}`, `Warteschlange von ${name} löschen`);
    return (
      <>
        <span class="bad">{t('missing from the configuration', 'fehlt in der Konfiguration')}</span>{' '}
        <button
          type="button"
          class="danger"
          onClick={() =>
            openDialog(<DeleteQueue title={title} bridge={bridge} onDone={onDeleted} />)
          }
        >
          {title}
        </button>
      </>
    );
  }
  if (state === 'refusing')
    return (
      <span class="bad">{t('the upstream refuses alarms', 'die Gegenstelle weist Alarme ab')}</span>
    );
  if (!connected) return <span class="bad">{t('down', 'unterbrochen')}</span>;
  return (
    <Since at={connectedSince} isGood>
      {t('connected', 'verbunden')}
    </Since>
  );
}

interface DeleteQueueProps {
  readonly title: string;
  readonly bridge: Bridge;
  readonly onDone: () => void;
}

function DeleteQueue({ title, bridge: { name, queued }, onDone }: DeleteQueueProps) {
  return (
    <ChangeDialog
      title={title}
      submit={t('Delete', 'Löschen')}
      isDangerous
      request={() => deleteBridge({ name })}
      onDone={onDone}
    >
      <p>
        {t(
          `${number(queued)} messages that wait are deleted for good.`,
          `${number(queued)} wartende Nachrichten werden endgültig gelöscht.`,
        )}
      </p>
    </ChangeDialog>
  );
}

/** The webhooks. */
export function Webhooks() {
  const webhooks = useLoaded(listOutputs, [], REFRESHED);
  return (
    <List
      title={t('Webhooks', 'Webhooks')}
      hint={t(
        'Webhooks are configured in the gateway’s file, under outputs.',
        'Webhooks werden in der Datei des Gateways eingerichtet, unter outputs.',
      )}
      loaded={webhooks}
      rows={webhooks.data}
      keyOf={({ name }) => name}
      textOf={({ name, host }) => `${name} ${host}`}
      empty={t('No webhooks are configured.', 'Es sind keine Webhooks eingerichtet.')}
      columns={[
        [t('Webhook', 'Webhook'), ({ name, host }) => <Named name={name} at={host} />],
        [t('State', 'Zustand'), ({ state }) => <WebhookState state={state} />],
        ...queueColumns(),
        [
          t('Last failure', 'Letzter Fehler'),
          ({ lastError }) => <LastFailure at={lastError?.at} text={lastError?.detail} />,
        ],
        deadLettersColumn((name) => (
          <DeadLetters
            name={name}
            read={() => listOutputDeadLetters({ name })}
            sendAgain={() => sendOutputDeadLettersAgain({ name })}
          />
        )),
      ]}
    />
  );
}

function WebhookState({ state }: Pick<Output, 'state'>) {
  const names = {
    delivering: t('delivering', 'stellt zu'),
    failing: t('cannot deliver', 'kann nicht zustellen'),
    refusing: t('the receiver refuses alarms', 'der Empfänger weist Alarme ab'),
  };
  return <span class={state === 'delivering' ? 'good' : 'bad'}>{names[state]}</span>;
}

function Named({ name, at }: { readonly name: string; readonly at: string | null }) {
  return (
    <>
      <strong>{name}</strong> {at !== null && <code class="gateway-address">{at}</code>}
    </>
  );
}

interface LastFailureProps {
  readonly at: string | undefined;
  readonly text: string | undefined;
}

function LastFailure({ at, text }: LastFailureProps) {
  if (at === undefined) return t('none', 'keiner');
  return (
    <>
      {text}, <TimeAgo at={at} />
    </>
  );
}

const when = (at: string | null) => (at === null ? '–' : <TimeAgo at={at} />);

/** The columns of a queue: waiting, delivered, dropped. */
function queueColumns(): readonly Column<Destination>[] {
  return [
    [
      t('Waiting', 'Wartend'),
      ({ queued }) => <span class={queued > 0 ? 'bad' : ''}>{number(queued)}</span>,
    ],
    [t('Oldest waiting', 'Älteste wartende'), ({ oldestQueuedAt }) => when(oldestQueuedAt)],
    [t('Delivered', 'Zugestellt'), ({ delivered }) => number(delivered)],
    [t('Dropped', 'Verworfen'), ({ dropped }) => <Dropped dropped={dropped} />],
  ];
}

function Dropped({ dropped: { tooOld, tooMany, refused, lost } }: Pick<Destination, 'dropped'>) {
  const said = [
    tooOld > 0 && t(`${number(tooOld)} too old`, `${number(tooOld)} zu alt`),
    tooMany > 0 && t(`${number(tooMany)} too many`, `${number(tooMany)} zu viele`),
    refused > 0 && t(`${number(refused)} refused`, `${number(refused)} unzustellbar`),
    lost > 0 && t(`${number(lost)} lost`, `${number(lost)} verloren`),
  ].filter((one) => one !== false);
  if (said.length === 0) return number(0);
  return <span class="bad">{said.join(', ')}</span>;
}

const deadLettersOf = (name: string) => t(`Dead letters of ${name}`, `Unzustellbares von ${name}`);

function deadLettersColumn(dialogOf: (name: string) => VNode): Column<Destination> {
  return [
    t('Dead letters', 'Unzustellbares'),
    ({ name }) => (
      <button
        type="button"
        aria-label={deadLettersOf(name)}
        onClick={() => openDialog(dialogOf(name))}
      >
        {t('Dead letters', 'Unzustellbares')}
      </button>
    ),
  ];
}

interface DeadLettersProps {
  readonly name: string;
  readonly read: () => Promise<DeadLetter[]>;
  /** Sends them again, the oldest first; undefined if this is not possible. */
  readonly sendAgain?: () => Promise<DeadLettersSentAgain>;
}

/** The messages that a bridge or webhook will never deliver by itself. */
function DeadLetters({ name, read, sendAgain }: DeadLettersProps) {
  const letters = useLoaded(read, [name]);
  return (
    <Dialog title={deadLettersOf(name)}>
      <List
        title={t('The newest first', 'Die neuesten zuerst')}
        hint={t(
          'Messages that the receiver refuses for good.',
          'Nachrichten, die der Empfänger endgültig ablehnt.',
        )}
        loaded={letters}
        rows={letters.data}
        keyOf={(letter) => JSON.stringify(letter)}
        empty={t('There are none.', 'Es gibt keine.')}
        columns={[
          [t('When', 'Wann'), ({ at }) => <TimeAgo at={at} />],
          [t('Topic', 'Topic'), ({ topic }) => <code>{topic}</code>],
          [t('Reason', 'Grund'), ({ reason }) => reason],
          [t('Content', 'Inhalt'), ({ base64 }) => <Payload base64={base64} />],
        ]}
        tools={
          sendAgain !== undefined && (
            <SendAgain
              sendAgain={sendAgain}
              hasSome={letters.data !== undefined && letters.data.length > 0}
              onSent={letters.again}
            />
          )
        }
      />
    </Dialog>
  );
}

interface SendAgainProps extends Required<Pick<DeadLettersProps, 'sendAgain'>> {
  readonly hasSome: boolean;
  readonly onSent: () => void;
}

function SendAgain({ sendAgain, hasSome, onSent }: SendAgainProps) {
  const change = useChange();
  const [sent, setSent] = useState<DeadLettersSentAgain>();
  const press = () => {
    if (!hasSome) return;
    change.send(sendAgain, (answer) => {
      setSent(answer);
      onSent();
    });
  };
  return (
    <>
      <button type="button" aria-disabled={change.isPending || !hasSome} onClick={press}>
        {t('Send again', 'Erneut senden')}
      </button>
      <span role="status">{sent && sentText(sent)}</span>
      <FailureText failure={change.failure} />
    </>
  );
}

function sentText({ sent, reason }: DeadLettersSentAgain): string {
  if (reason === null) return t(`${number(sent)} delivered.`, `${number(sent)} zugestellt.`);
  return t(
    `${number(sent)} delivered, then: ${reason}.`,
    `${number(sent)} zugestellt, dann: ${reason}.`,
  );
}
