import { useId, useRef, useState } from 'preact/hooks';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import type { Failure } from '../../../request.js';
import { FailureText } from '../../../ui/bits.js';
import type { ChangeAlarm } from '../alarm-changes.js';
import type { DelayedResolves } from '../delayed-resolves.js';
import type { OpenAlarm, StateChange } from '../open-alarm.js';
import { focusNeighbour } from './focus-neighbour.js';

const actionsFor = (what: string) => t(`What to do about: ${what}`, `Was zu tun ist: ${what}`);

const MAX_NOTE_LENGTH = 500;

interface AlarmActionsProps {
  readonly alarm: OpenAlarm;
  /** The subject of the buttons. */
  readonly title: string;
  readonly change: ChangeAlarm;
  readonly resolves: DelayedResolves;
}

/** The buttons with which a responder acknowledges or resolves an alarm. */
export function AlarmActions({ alarm, title, change, resolves }: AlarmActionsProps) {
  const { session } = useConsole();
  const element = useRef<HTMLFieldSetElement>(null);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [note, setNote] = useState<string>();
  if (!session.may('responder', alarm.location.id, alarm.group?.id ?? null)) return null;
  const give = async (state: StateChange['state']) => {
    if (isPending) return;
    setPending(true);
    setFailure(undefined);
    const leave = focusNeighbour(element.current);
    const answer = change({ alarm, state, note: note?.trim() ?? '' });
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
  const resolving = resolves.states.value.get(alarm.key);
  if (resolving !== undefined) {
    return (
      <fieldset class="board-actions" ref={element}>
        <legend class="visually-hidden">{actionsFor(title)}</legend>
        <strong role="status">{t('Resolved', 'Erledigt')}</strong>
        {resolving === 'waiting' && (
          <button type="button" onClick={() => resolves.undo(alarm.key)}>
            {t('Undo', 'Rückgängig')}
          </button>
        )}
      </fieldset>
    );
  }
  return (
    <fieldset class="board-actions" ref={element}>
      <legend class="visually-hidden">{actionsFor(title)}</legend>
      {note !== undefined && <Note note={note} setNote={setNote} />}
      {alarm.state === 'raised' && (
        <button
          type="button"
          class="primary"
          aria-disabled={isPending}
          onClick={() => give('acknowledged')}
        >
          {t('Acknowledge', 'Quittieren')}
        </button>
      )}
      <button type="button" aria-disabled={isPending} onClick={() => give('resolved')}>
        {t('Resolve', 'Erledigen')}
      </button>
      {note === undefined && (
        <button type="button" onClick={() => setNote('')}>
          {t('Add a note', 'Notiz hinzufügen')}
        </button>
      )}
      <FailureText failure={failure} />
    </fieldset>
  );
}

interface NoteProps {
  readonly note: string;
  readonly setNote: (note: string) => void;
}

function Note({ note, setNote }: NoteProps) {
  const id = useId();
  const takeFocus = useRef((input: HTMLInputElement | null) => input?.focus());
  return (
    <label htmlFor={id}>
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
