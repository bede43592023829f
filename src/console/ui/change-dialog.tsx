import type { ComponentChildren } from 'preact';
import { t } from '../language.js';
import { FailureText } from './bits.js';
import { useChange } from './load.js';
import { Dialog } from './old-dialog.js';

interface ChangeDialogProps<Result> {
  readonly title: string;
  /** The text of the button that makes the change. */
  readonly submit: string;
  readonly isDangerous?: boolean;
  /** Whether something must be chosen first. */
  readonly isIncomplete?: boolean;
  readonly request: () => Promise<Result>;
  readonly onDone: (result: Result) => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that makes one change; it shows a refusal by the gateway. */
export function ChangeDialog<Result>(props: ChangeDialogProps<Result>) {
  const { title, submit, request, onDone, onClose, children } = props;
  const { isDangerous = false, isIncomplete = false } = props;
  const change = useChange();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          change.send(request, onDone);
        }}
      >
        {children}
        <FailureText failure={change.failure} />
        <div class="buttons">
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={isIncomplete}
            aria-disabled={change.isPending}
          >
            {submit}
          </button>
          <button type="button" onClick={onClose}>
            {t('Cancel', 'Abbrechen')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
