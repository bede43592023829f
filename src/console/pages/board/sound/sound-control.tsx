import { useWords } from '../../../console-parts.js';
import { BOARD_WORDS } from '../board-words.js';
import type { AlarmSound } from './alarm-sound.js';

interface SoundControlProps {
  readonly sound: AlarmSound;
}

/** Whether the board has sound; off is clearly visible. */
export function SoundControl({ sound }: SoundControlProps) {
  const words = useWords(BOARD_WORDS);
  const state = sound.state.value;
  return (
    <fieldset class="board-sound">
      <legend class="visually-hidden">{words.sound}</legend>
      <span
        class={state === 'on' ? 'board-sound-state dot good' : 'board-sound-state dot'}
        role="status"
      >
        {words.soundStates[state]}
      </span>
      {state === 'off' ? (
        <button type="button" class="primary" onClick={() => sound.switchOn()}>
          {words.soundOn}
        </button>
      ) : (
        <>
          <button type="button" onClick={() => sound.alarm()} disabled={state === 'blocked'}>
            {words.soundTest}
          </button>
          <button type="button" onClick={() => sound.switchOff()}>
            {words.soundOff}
          </button>
        </>
      )}
      {state === 'blocked' && (
        <p class="board-blocked" role="alert">
          {words.soundBlocked}
        </p>
      )}
    </fieldset>
  );
}
