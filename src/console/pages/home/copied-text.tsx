import { useRef, useState } from 'preact/hooks';
import { useWords } from '../../console-parts.js';
import { ISSUED_WORDS } from './issued-words.js';

interface CopiedTextProps {
  readonly text: string;
  /** What the button does, for who does not see beside what it stands. */
  readonly label: string;
}

/** A text with a button that copies it. */
export function CopiedText({ text, label }: CopiedTextProps) {
  const words = useWords(ISSUED_WORDS);
  const code = useRef<HTMLElement>(null);
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      // Only there on pages that came over TLS, or from this machine.
      await navigator.clipboard.writeText(text);
      setSaid(words.copied);
    } catch {
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      setSaid(words.selected);
    }
  };
  return (
    <span class="home-copied">
      <code ref={code}>{text}</code>
      <button type="button" class="home-noprint" aria-label={label} onClick={copy}>
        {words.copy}
      </button>
      <span role="status" class="hint home-noprint">
        {said}
      </span>
    </span>
  );
}
