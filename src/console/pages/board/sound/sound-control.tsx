import { t } from '../../../language.js';
import type { AlarmSound } from './alarm-sound.js';

const soundStates = () => ({
  off: t('Sound is off', 'Ton ist aus'),
  on: t('Sound is on', 'Ton ist an'),
  blocked: t('Sound is blocked', 'Ton ist gesperrt'),
});

interface SoundControlProps {
  readonly sound: AlarmSound;
}

/** Whether the board has sound; off is clearly visible. */
export function SoundControl({ sound }: SoundControlProps) {
  const state = sound.state.value;
  return (
    <fieldset class="board-sound">
      <legend class="visually-hidden">{t('Sound', 'Ton')}</legend>
      <span
        class={state === 'on' ? 'board-sound-state dot good' : 'board-sound-state dot'}
        role="status"
      >
        {soundStates()[state]}
      </span>
      {state === 'off' ? (
        <button type="button" class="primary" onClick={() => sound.switchOn()}>
          {t('Switch sound on', 'Ton einschalten')}
        </button>
      ) : (
        <>
          <button type="button" onClick={() => sound.alarm()} disabled={state === 'blocked'}>
            {t('Test the sound', 'Ton testen')}
          </button>
          <button type="button" onClick={() => sound.switchOff()}>
            {t('Switch sound off', 'Ton ausschalten')}
          </button>
        </>
      )}
      {state === 'blocked' && (
        <p class="board-blocked" role="alert">
          {t(
            'The browser allows no sound until you press a key or click on this page.',
            'Der Browser erlaubt keinen Ton, bis Sie eine Taste drücken oder auf diese Seite klicken.',
          )}
        </p>
      )}
    </fieldset>
  );
}
