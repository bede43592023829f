import type { IssuedAccessToken } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { CopiedField } from '../../../ui/copied-text.js';
import { Dialog } from '../../../ui/dialog.js';
import { TOKENS_WORDS } from './tokens-words.js';

interface TokenMadeDialogProps {
  readonly token: IssuedAccessToken;
  readonly onClose: () => void;
}

/** Shows a new token, which can never be seen again. */
export function TokenMadeDialog({ token, onClose }: TokenMadeDialogProps) {
  const words = useWords(TOKENS_WORDS);
  return (
    <Dialog title={words.madeTitle} leaveQuestion={words.leave} onClose={onClose}>
      <div class="form">
        <p>{words.made(token.name)}</p>
        <label>
          {words.id}
          <input readOnly value={token.id} />
        </label>
        <CopiedField text={token.token} label={words.token} />
        <div class="buttons">
          <button type="button" class="primary" onClick={onClose}>
            {words.done}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
