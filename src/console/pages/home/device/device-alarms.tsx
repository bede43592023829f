import { useEffect } from 'preact/hooks';
import { listDeviceAlarms } from '../../../api.js';
import { KindIcon, KindName } from '../../../kinds.js';
import { dateTime, t } from '../../../language.js';
import type { LiveFeed } from '../../../live.js';
import { hrefTo } from '../../../place.js';
import { FailureText, TimeAgo } from '../../../ui/bits.js';
import { useLoaded } from '../../../ui/load.js';
import { useOnReturn } from '../home-data.js';

const SHOWN_ALARMS = 10;

interface DeviceAlarmsProps {
  readonly locationId: string;
  readonly deviceId: string;
  /** The feed of the device's messages. */
  readonly feed: LiveFeed;
}

/** A device's newest alarms, with a link to all of them. */
export function DeviceAlarms({ locationId, deviceId, feed }: DeviceAlarmsProps) {
  const alarms = useLoaded(
    () => listDeviceAlarms({ locationId, deviceId }, { limit: SHOWN_ALARMS }),
    [locationId, deviceId],
  );
  const { again } = alarms;
  useOnReturn(again);
  useEffect(
    () =>
      feed.listen({
        message: ({ topic }) => {
          if (topic.split('/')[4] === 'alarms') again();
        },
        missed: again,
      }),
    [feed, again],
  );
  const events = alarms.data?.events ?? [];
  return (
    <section aria-label={t('Newest alarms', 'Neueste Alarme')}>
      <h2>{t('Newest alarms', 'Neueste Alarme')}</h2>
      <FailureText failure={alarms.failure} onRetry={again} />
      {alarms.data !== undefined && events.length === 0 && (
        <p>{t('There has been no alarm.', 'Es gab noch keinen Alarm.')}</p>
      )}
      <ul class="home-alarms">
        {events.map(({ id, kind, detectedAt }) => (
          <li key={id}>
            <KindIcon kind={kind} />
            <KindName kind={kind} />
            <span class="hint">
              {dateTime(detectedAt)} · <TimeAgo at={detectedAt} />
            </span>
          </li>
        ))}
      </ul>
      <p>
        <a href={hrefTo('/history', { location: locationId, device: deviceId })}>
          {t('All of them in the history', 'Alle im Verlauf')}
        </a>
      </p>
    </section>
  );
}
