/** The buttons with which a responder acknowledges and resolves the alarms of a row, with a note if wanted. */

import { useId, useRef, useState } from 'preact/hooks';
import type { AlarmStates } from '../api.js';
import { number, t } from '../language.js';
import type { Failure } from '../request.js';
import { session } from '../session.js';
import { FailureText } from '../ui/bits.js';
import type { OpenAlarm, Step } from './alarm.js';
import { resolving, takeStep, undo } from './changes.js';

const MAX_NOTE_LENGTH = 500;

interface AlarmActionsProps {
  /** At least one; all of one device and in one state. */
  readonly alarms: readonly [OpenAlarm, ...OpenAlarm[]];
  /** The subject of the buttons. */
  readonly title: string;
  /** Called with each answer of the gateway. */
  readonly onStep?: (states: AlarmStates) => void;
}

export function AlarmActions({ alarms, title, onStep }: AlarmActionsProps) {
  const [first] = alarms;
  const element = useRef<HTMLFieldSetElement>(null);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [note, setNote] = useState<string>();
  if (!session.may('responder', first.location.id, first.group?.id ?? null)) return null;
  const take = async (state: Step['state']) => {
    if (isPending) return;
    setPending(true);
    setFailure(undefined);
    const leave = focusNeighbour(element.current);
    const answer = takeStep({ alarms, state, note: note?.trim() ?? '', onStep });
    // A resolve shows its Undo immediately.
    leave();
    const outcome = await answer;
    setPending(false);
    if (outcome === 'undone') return;
    setFailure(outcome);
    if (outcome !== undefined) return;
    setNote(undefined);
    leave();
  };
  const state = resolving.value.get(first.key);
  return (
    <fieldset class="actions" ref={element}>
      <legend class="visually-hidden">
        {t(`What to do about: ${title}`, `Was zu tun ist: ${title}`)}
      </legend>
      {state !== undefined ? (
        <>
          <strong role="status">{t('Resolved', 'Erledigt')}</strong>
          {state === 'waiting' && (
            <button
              type="button"
              onClick={() => {
                for (const { key } of alarms) undo(key);
              }}
            >
              {t('Undo', 'Rückgängig')}
            </button>
          )}
        </>
      ) : (
        <>
          {note !== undefined && <Note note={note} setNote={setNote} />}
          {first.state === 'raised' && (
            <button
              type="button"
              class="primary"
              aria-disabled={isPending}
              onClick={() => take('acknowledged')}
            >
              {forAll(t('Acknowledge', 'Quittieren'), alarms.length)}
            </button>
          )}
          <button type="button" aria-disabled={isPending} onClick={() => take('resolved')}>
            {forAll(t('Resolve', 'Erledigen'), alarms.length)}
          </button>
          {note === undefined && (
            <button type="button" onClick={() => setNote('')}>
              {t('Add a note', 'Notiz hinzufügen')}
            </button>
          )}
          <FailureText failure={failure} />
        </>
      )}
    </fieldset>
  );
}

/** The text of a button that is for one alarm or for several. */
function forAll(text: string, count: number): string {
  return count === 1 ? text : `${text} (${number(count)})`;
}

interface NoteProps {
  readonly note: string;
  readonly setNote: (note: string) => void;
}

function Note({ note, setNote }: NoteProps) {
  const id = useId();
  const takeFocus = useRef((input: HTMLInputElement | null) => input?.focus());
  return (
    <label htmlFor={id} class="actions-note">
      {t('Note', 'Notiz')}
      <input
        id={id}
        ref={takeFocus.current}
        value={note}
        maxLength={MAX_NOTE_LENGTH}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => setNote(currentTarget.value)}
      />
      <span id={`${id}-hint`} class="hint">
        {t(
          'Saved when you acknowledge or resolve the alarm.',
          'Wird beim Quittieren oder Erledigen gespeichert.',
        )}
      </span>
    </label>
  );
}

/** Longer than the pause between two drawings. */
const DRAWN_AFTER_MS = 300;

/**
 * Keeps a keyboard user's place in the list: the element with the focus may vanish with its alarm or its button.
 *
 * @returns a function to call when the alarm has changed
 */
function focusNeighbour(inside: Element | null): () => void {
  const row = inside?.closest('li');
  const [own, neighbour] = [row, row?.nextElementSibling ?? row?.previousElementSibling].map(
    (item) => item?.querySelector<HTMLElement>('article'),
  );
  return () => {
    // After the change has been drawn.
    setTimeout(() => {
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      const next = own?.isConnected === true ? own : neighbour;
      (next?.isConnected === true ? next : document.getElementById('content'))?.focus();
    }, DRAWN_AFTER_MS);
  };
}
