import type { ComponentChildren } from 'preact';
import { useWords } from '../../console-parts.js';
import { Dialog } from '../../ui/dialog.js';
import { FailureText } from '../../ui/failure-text.js';
import { useChange } from '../../ui/use-request.js';
import { HOME_WORDS } from './home-words.js';

interface ChangeDialogProps<Result> {
  readonly title: string;
  /** What the button says that makes the change. */
  readonly submit: string;
  readonly isDangerous?: boolean;
  readonly request: () => Promise<Result>;
  readonly onDone: (result: Result) => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that makes one change; a refusal of the gateway is shown in it. */
export function ChangeDialog<Result>(props: ChangeDialogProps<Result>) {
  const { title, submit, isDangerous = false, request, onDone, onClose, children } = props;
  const words = useWords(HOME_WORDS);
  const change = useChange();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="home-form"
        onSubmit={(event) => {
          event.preventDefault();
          change.send(request, onDone);
        }}
      >
        {children}
        <FailureText failure={change.failure} />
        <div class="home-buttons">
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={change.isPending}
          >
            {submit}
          </button>
          <button type="button" onClick={onClose}>
            {words.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
