import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../language.js';

interface DialogProps {
  readonly title: string;
  /** Asked before Escape or × closes it; undefined: nothing would be lost. */
  readonly leaveQuestion?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog, open while it is rendered. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, leaveQuestion, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // At once: whatever happens before the next paint must not take the focus from where it was.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      // The browser does so itself only for a dialog that is still in the page.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const leave = () => {
    if (leaveQuestion === undefined || confirm(leaveQuestion)) onClose();
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
        if (currentTarget.isConnected) onClose();
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
