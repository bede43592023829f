import { useWords } from '../../console-parts.js';
import { Dialog } from '../../ui/dialog.js';
import { FailureText } from '../../ui/failure-text.js';
import { useChange } from '../../ui/use-request.js';
import { GATEWAY_WORDS } from './gateway-words.js';

interface ConfirmDialogProps {
  readonly title: string;
  readonly text: string;
  /** The words of the button. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly request: () => Promise<unknown>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks before a change, sends it, and closes once it is made; says why where it failed. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, text, confirm, isDangerous = false, request, onDone, onClose } = props;
  const words = useWords(GATEWAY_WORDS);
  const change = useChange();
  const send = () =>
    change.send(request, () => {
      onDone();
      onClose();
    });
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <FailureText failure={change.failure} />
      <div class="gateway-buttons">
        <button
          type="button"
          class={isDangerous ? 'danger' : 'primary'}
          disabled={change.isPending}
          onClick={send}
        >
          {confirm}
        </button>
        <button type="button" onClick={onClose}>
          {words.cancel}
        </button>
      </div>
    </Dialog>
  );
}
