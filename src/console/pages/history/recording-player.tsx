import { useEffect, useRef, useState } from 'preact/hooks';
import type { Alarm } from '../../api.js';
import { t } from '../../language.js';
import { type Failure, failureOf } from '../../request.js';
import { FailureText } from '../../ui/bits.js';
import { recordingUrls } from './alarm-pages.js';

/** URLs expire after ten minutes; one that is about to expire is not used. */
const URL_VALID_MS = 9 * 60_000;

interface RecordingPlayerProps {
  readonly alarm: Alarm;
  readonly locationId: string;
  readonly type: 'video' | 'audio';
}

/** Plays a recording in place. */
export function RecordingPlayer({ alarm, locationId, type }: RecordingPlayerProps) {
  const [url, setUrl] = useState<string | null>();
  /** Counts the players: a player that failed does not retry, and a new URL may equal the old one. */
  const [turn, setTurn] = useState(0);
  const [isUnreadable, setUnreadable] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  /** Where it resumes if its URL expires while playing. */
  const resumeAtSeconds = useRef(0);
  const renewedAtMs = useRef(0);
  const renew = () => {
    // If a new URL fails immediately, too, the recording is gone.
    if (Date.now() - renewedAtMs.current < URL_VALID_MS) return setUnreadable(true);
    renewedAtMs.current = Date.now();
    // Remove the old URL meanwhile: it would fail again.
    setUrl(undefined);
    setFailure(undefined);
    recordingUrls(locationId, alarm).then(
      (urls) => {
        setUrl(urls[type]);
        setTurn((before) => before + 1);
        setUnreadable(urls[type] == null);
      },
      (error: unknown) => {
        renewedAtMs.current = 0;
        setFailure(failureOf(error));
      },
    );
  };
  useEffect(renew, []);
  if (isUnreadable) {
    return (
      <p class="failure" role="alert">
        {t(
          'This recording cannot be played. It may not have been uploaded, or is not kept any more.',
          'Diese Aufnahme lässt sich nicht abspielen. Vielleicht wurde sie nie hochgeladen, oder sie wird nicht mehr aufbewahrt.',
        )}
      </p>
    );
  }
  if (failure !== undefined) return <FailureText failure={failure} onRetry={renew} />;
  if (url == null)
    return (
      <p role="status">
        {t('Asking for the recording again …', 'Die Aufnahme wird erneut angefragt …')}
      </p>
    );
  const player = {
    src: url,
    controls: true,
    autoPlay: true,
    preload: 'metadata' as const,
    class: 'history-player',
    'aria-label': t('Recording', 'Aufnahme'),
    onError: ({ currentTarget }: { readonly currentTarget: HTMLMediaElement }) => {
      resumeAtSeconds.current = currentTarget.currentTime;
      renew();
    },
    onLoadedMetadata: ({ currentTarget }: { readonly currentTarget: HTMLMediaElement }) => {
      if (resumeAtSeconds.current > 0) currentTarget.currentTime = resumeAtSeconds.current;
    },
  };
  return type === 'video' ? (
    <video key={turn} {...player} playsInline />
  ) : (
    <audio key={turn} {...player} />
  );
}
