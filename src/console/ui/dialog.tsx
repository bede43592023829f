/**
 * Dialogs: `openDialog` shows one over the page, and it closes itself.
 *
 * `Dialogs` stands once in the frame. Leaving the place closes all that are open.
 */

import { signal } from '@preact/signals';
import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../language.js';
import { place } from '../place.js';
import { FailureText } from './bits.js';
import { useChange } from './load.js';

interface OpenDialog {
  readonly number: number;
  readonly content: VNode;
}

const open = signal<readonly OpenDialog[]>([]);
let opened = 0;

/** Shows a dialog; it keeps the props that it is given here. */
export function openDialog(content: VNode): void {
  opened += 1;
  open.value = [...open.peek(), { number: opened, content }];
}

const CloseContext = createContext<() => void>(() => undefined);

/** A function that closes the dialog in which the component is. */
export function useCloseDialog(): () => void {
  return useContext(CloseContext);
}

/** The dialogs that are open. */
export function Dialogs() {
  const { path } = place.value;
  useEffect(
    () => () => {
      open.value = [];
    },
    [path],
  );
  return open.value.map(({ number, content }) => (
    <CloseContext.Provider
      key={number}
      value={() => {
        open.value = open.peek().filter((one) => one.number !== number);
      }}
    >
      {content}
    </CloseContext.Provider>
  ));
}

interface DialogProps {
  readonly title: string;
  /** Asked before Escape or × closes it; undefined: nothing would be lost. */
  readonly leaveQuestion?: string;
  /** Called when it closes, by whatever. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, leaveQuestion, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const close = useCloseDialog();
  const closed = useRef(onClose);
  closed.current = onClose;
  // At once: whatever happens before the next paint must not take the focus from where it was.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // The browser does so itself only for a dialog that is still in the page.
      if (before instanceof HTMLElement) before.focus();
      closed.current?.();
    };
  }, []);
  const leave = () => {
    if (leaveQuestion === undefined || confirm(leaveQuestion)) close();
  };
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      // The browser closes it itself at a second Escape, and again as it leaves the page.
      onClose={({ currentTarget }) => {
        if (currentTarget.isConnected) close();
      }}
    >
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" aria-label={t('Close', 'Schließen')} onClick={leave}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface ChangeDialogProps<Result> {
  readonly title: string;
  /** The text of the button that makes the change. */
  readonly submit: string;
  readonly isDangerous?: boolean;
  /** Whether something must be chosen first. */
  readonly isIncomplete?: boolean;
  readonly request: () => Promise<Result>;
  /** Called once the change is made and the dialog is closed. */
  readonly onDone?: (result: Result) => void;
  readonly children?: ComponentChildren;
}

/** A dialog that makes one change; it shows a refusal by the gateway. */
export function ChangeDialog<Result>(props: ChangeDialogProps<Result>) {
  const { title, submit, request, onDone, children } = props;
  const { isDangerous = false, isIncomplete = false } = props;
  const change = useChange();
  const close = useCloseDialog();
  return (
    <Dialog title={title}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          change.send(request, (result) => {
            close();
            onDone?.(result);
          });
        }}
      >
        {children}
        <FailureText failure={change.failure} />
        <div class="row">
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={isIncomplete}
            aria-disabled={change.isPending}
          >
            {submit}
          </button>
          <button type="button" onClick={close}>
            {t('Cancel', 'Abbrechen')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
