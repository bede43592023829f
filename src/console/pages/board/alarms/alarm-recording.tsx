import { useState } from 'preact/hooks';
import { t } from '../../../language.js';
import { FailureText } from '../../../ui/bits.js';
import { useLoaded } from '../../../ui/load.js';
import { recordingUrls } from '../../history/alarm-pages.js';
import type { OpenAlarm } from '../open-alarm.js';

interface AlarmRecordingProps {
  readonly alarm: OpenAlarm;
}

/** Plays a camera's recording of an alarm on request: its address is valid only for minutes. */
export function AlarmRecording({ alarm }: AlarmRecordingProps) {
  const [isShown, setShown] = useState(false);
  if (alarm.recordings.length === 0) return null;
  return (
    <div class="board-recording">
      <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        {isShown
          ? t('Hide the recording', 'Aufnahme ausblenden')
          : t('Show the recording', 'Aufnahme ansehen')}
      </button>
      {isShown && <Recording alarm={alarm} />}
    </div>
  );
}

function Recording({ alarm }: AlarmRecordingProps) {
  const { location, key } = alarm;
  const { data, failure, isPending, again } = useLoaded(
    () => recordingUrls(location.id, alarm),
    [key],
  );
  if (failure !== undefined) return <FailureText failure={failure} onRetry={again} />;
  if (data === undefined) return isPending ? <p role="status">…</p> : null;
  const { video = null, audio = null } = data;
  if (video === null && audio === null)
    return <p>{t('There is no recording.', 'Es gibt keine Aufnahme.')}</p>;
  return (
    <>
      {video !== null && <Player sort="video" url={video} />}
      {audio !== null && <Player sort="audio" url={audio} />}
    </>
  );
}

function Player({ sort, url }: { readonly sort: 'video' | 'audio'; readonly url: string }) {
  const name = sort === 'video' ? t('Video', 'Video') : t('Audio', 'Ton');
  const [isBroken, setBroken] = useState(false);
  const Media = sort;
  return (
    <div>
      {!isBroken && (
        <Media
          src={url}
          controls
          preload="metadata"
          aria-label={name}
          onError={() => setBroken(true)}
        />
      )}
      {isBroken && (
        <p role="status">
          {t(
            'The recording cannot be played. Perhaps it has not been uploaded yet.',
            'Die Aufnahme lässt sich nicht abspielen. Vielleicht ist sie noch nicht hochgeladen.',
          )}
        </p>
      )}
      <a href={url} target="_blank" rel="noreferrer">
        {`${t('Open the recording', 'Aufnahme öffnen')} (${name})`}
      </a>
    </div>
  );
}
