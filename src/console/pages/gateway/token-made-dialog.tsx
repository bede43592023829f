import { useRef, useState } from 'preact/hooks';
import type { IssuedAccessToken } from '../../api/generated.js';
import { useWords } from '../../console-parts.js';
import { Dialog } from '../../ui/dialog.js';
import { TOKENS_WORDS } from './tokens-words.js';

interface TokenMadeDialogProps {
  readonly token: IssuedAccessToken;
  readonly onClose: () => void;
}

/** Shows a new token, which nobody can see again. */
export function TokenMadeDialog({ token, onClose }: TokenMadeDialogProps) {
  const words = useWords(TOKENS_WORDS);
  const field = useRef<HTMLInputElement>(null);
  const [told, setTold] = useState('');
  const copy = () => {
    field.current?.select();
    copyText(token.token).then(
      () => setTold(words.copied),
      () => setTold(words.copyByHand),
    );
  };
  return (
    <Dialog title={words.madeTitle} onClose={onClose}>
      <div class="form">
        <p>{words.made(token.name)}</p>
        <label>
          {words.id}
          <input readOnly value={token.id} />
        </label>
        <label>
          {words.token}
          <input ref={field} readOnly value={token.token} />
        </label>
        <p role="status">{told}</p>
        <div class="buttons">
          <button type="button" class="primary" onClick={copy}>
            {words.copy}
          </button>
          <button type="button" onClick={onClose}>
            {words.done}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Without TLS a browser has no clipboard, except on the gateway's own machine. */
async function copyText(text: string): Promise<void> {
  if (!isSecureContext) throw new Error('No clipboard without a secure context.');
  await navigator.clipboard.writeText(text);
}
