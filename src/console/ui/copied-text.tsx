import { useRef, useState } from 'preact/hooks';
import { t } from '../language.js';

interface CopiedTextProps {
  readonly text: string;
  /** The button's name for screen readers, which do not see the text next to it. */
  readonly label: string;
}

/** A text with a button that copies it. */
export function CopiedText({ text, label }: CopiedTextProps) {
  const code = useRef<HTMLElement>(null);
  const select = () => {
    if (code.current !== null) getSelection()?.selectAllChildren(code.current);
  };
  return (
    <span class="copied">
      <code ref={code}>{text}</code>
      <CopyButton text={text} label={label} select={select} />
    </span>
  );
}

/** A text in its own field, with a button that copies it. */
export function CopiedField({ text, label }: CopiedTextProps) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <label>
        {label}
        <input
          ref={field}
          readOnly
          value={text}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      </label>
      <span class="copied">
        <CopyButton text={text} select={() => field.current?.select()} />
      </span>
    </>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  readonly select: () => void;
}

function CopyButton({ text, label, select }: CopyButtonProps) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      // Exists only on pages served over TLS or from this machine.
      await navigator.clipboard.writeText(text);
      setSaid(t('Copied', 'Kopiert'));
    } catch {
      select();
      setSaid(t('Selected: press Ctrl+C', 'Markiert: drücken Sie Strg+C'));
    }
  };
  return (
    <>
      <button type="button" aria-label={label} onClick={copy}>
        {t('Copy', 'Kopieren')}
      </button>
      <span role="status" class="hint">
        {said}
      </span>
    </>
  );
}
