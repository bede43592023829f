/**
 * The recordings of an alarm, played in place, on the board and in the history.
 *
 * Their URLs are signed, which the audit trail records, and expire after ten minutes: they are asked for when somebody
 * presses Play, once for all players of an alarm, and again when one has expired while it played.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { type Alarm, getAlarm } from './api.js';
import { t } from './language.js';
import { type Failure, failureOf } from './request.js';
import { FailureText } from './ui/bits.js';

const MEDIA = ['video', 'audio'] as const;
export type Medium = (typeof MEDIA)[number];
type Urls = Partial<Record<Medium, string | null>>;

/** A URL that is about to expire is not used. */
const URL_VALID_MS = 9 * 60_000;

interface OfAlarm {
  readonly alarm: Pick<Alarm, 'id' | 'device' | 'footage'>;
  readonly locationId: string;
}

/** The recordings that an alarm has. */
export function mediaOf({ footage }: Pick<Alarm, 'footage'>): readonly Medium[] {
  if (Array.isArray(footage)) return MEDIA.filter((medium) => footage.includes(medium));
  return MEDIA.filter((medium) => footage[medium] !== null);
}

/** A button that shows the recordings of an alarm, if there are any. */
export function Recordings({ alarm, locationId }: OfAlarm) {
  const [isShown, setShown] = useState(false);
  if (mediaOf(alarm).length === 0) return null;
  return (
    <div class="recordings">
      <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        {isShown
          ? t('Hide the recording', 'Aufnahme ausblenden')
          : t('Show the recording', 'Aufnahme ansehen')}
      </button>
      {isShown && <Players alarm={alarm} locationId={locationId} />}
    </div>
  );
}

function Players({ alarm, locationId }: OfAlarm) {
  const sign = useSigning({ alarm, locationId });
  // Two that play by themselves would be heard at once.
  return mediaOf(alarm).map((type) => <Player key={type} type={type} sign={sign} />);
}

/** Plays one recording of an alarm. */
export function RecordingPlayer({ type, ...of }: OfAlarm & { readonly type: Medium }) {
  return <Player type={type} sign={useSigning(of)} autoPlay />;
}

/** A function that asks for signed URLs, unless the last are still valid. */
function useSigning({ alarm, locationId }: OfAlarm): () => Promise<Urls> {
  const last = useRef<{ readonly atMs: number; readonly urls: Promise<Urls> }>(undefined);
  return () => {
    if (last.current !== undefined && Date.now() - last.current.atMs < URL_VALID_MS)
      return last.current.urls;
    const asked = getAlarm({ locationId, alarmId: alarm.id }, { device: alarm.device.id });
    const urls = asked.then(({ footage }) => (Array.isArray(footage) ? {} : footage));
    last.current = { atMs: Date.now(), urls };
    urls.catch(() => {
      last.current = undefined;
    });
    return urls;
  };
}

interface PlayerProps {
  readonly type: Medium;
  readonly sign: () => Promise<Urls>;
  readonly autoPlay?: boolean;
}

function Player({ type, sign, autoPlay = false }: PlayerProps) {
  const [url, setUrl] = useState<string | null>();
  const [isUnreadable, setUnreadable] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const resumeAtSeconds = useRef(0);
  const renewedAtMs = useRef(0);
  const renew = () => {
    // A new URL that fails at once will not play later either.
    if (Date.now() - renewedAtMs.current < URL_VALID_MS) return setUnreadable(true);
    renewedAtMs.current = Date.now();
    // The old URL would fail again.
    setUrl(undefined);
    setFailure(undefined);
    sign().then(
      (urls) => {
        setUrl(urls[type]);
        setUnreadable(urls[type] == null);
      },
      (error: unknown) => {
        renewedAtMs.current = 0;
        setFailure(failureOf(error));
      },
    );
  };
  useEffect(renew, []);
  const Element = type;
  const name = type === 'video' ? t('Video', 'Video') : t('Audio', 'Ton');
  if (failure !== undefined) return <FailureText failure={failure} onRetry={renew} />;
  if (url === undefined && !isUnreadable)
    return <p role="status">{t('Asking for the recording …', 'Die Aufnahme wird angefragt …')}</p>;
  return (
    <div class="recording">
      {isUnreadable ? (
        <p class="failure" role="alert">
          {t(
            'The recording cannot be played. Perhaps it has not been uploaded yet.',
            'Die Aufnahme lässt sich nicht abspielen. Vielleicht ist sie noch nicht hochgeladen.',
          )}
        </p>
      ) : (
        <Element
          key={url}
          src={url ?? undefined}
          controls
          autoPlay={autoPlay}
          playsInline
          preload="metadata"
          aria-label={name}
          onError={({ currentTarget }) => {
            resumeAtSeconds.current = currentTarget.currentTime;
            renew();
          }}
          onLoadedMetadata={({ currentTarget }) => {
            if (resumeAtSeconds.current > 0) currentTarget.currentTime = resumeAtSeconds.current;
          }}
        />
      )}
      {url != null && (
        <a href={url} target="_blank" rel="noreferrer">
          {`${t('Open the recording', 'Aufnahme öffnen')} (${name})`}
        </a>
      )}
    </div>
  );
}
