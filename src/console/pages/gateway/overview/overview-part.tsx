import { type AdvisedFault, acknowledgeFault } from '../../../api.js';
import { t } from '../../../language.js';
import { useFaults } from '../../../live/use-faults.js';
import { ownValues } from '../../../request.js';
import { FailureText } from '../../../ui/bits.js';
import { useChange } from '../../../ui/load.js';
import { CodeText } from './code-text.js';
import { RejectedList } from './rejected-list.js';
import { UnknownDevice } from './unknown-device.js';

/** Names for the subjects of faults, which are `FAULT_SUBJECTS` of the gateway. */
export const subjectNames = (): Readonly<Record<string, string>> => ({
  location: t('Home', 'Heim'),
  room: t('Room', 'Zimmer'),
  group: t('Group', 'Gruppe'),
  device: t('Device', 'Gerät'),
  'access-token': t('Access token', 'Zugangstoken'),
  bridge: t('Bridge', 'Brücke'),
  session: t('Session', 'Sitzung'),
  webhook: t('Webhook', 'Webhook'),
  address: t('Address', 'Adresse'),
});

/** Whether the gateway is ready, and what to do about its faults. */
export function OverviewPart() {
  const { data: faults, failure, again } = useFaults();
  const isReady = faults?.every(({ stops }) => !stops);
  const { version } = ownValues();
  return (
    <>
      <FailureText failure={failure} onRetry={again} />
      {faults === undefined && failure === undefined && <Loading />}
      {faults !== undefined && failure === undefined && (
        <>
          <p class={isReady ? 'gateway-ready' : 'gateway-unready'} role="status">
            {isReady
              ? t(
                  'The gateway is ready: alarms are taken, stored and forwarded.',
                  'Das Gateway ist bereit: Alarme werden angenommen, gespeichert und weitergeleitet.',
                )
              : t(
                  'The gateway is not ready: it cannot do its whole work.',
                  'Das Gateway ist nicht bereit: Es kann nicht seine ganze Arbeit tun.',
                )}
          </p>
          <p>
            {t('Version', 'Version')} {version}
          </p>
          <h2>{t('Faults', 'Störungen')}</h2>
          <Faults faults={faults} />
        </>
      )}
      <RejectedList />
    </>
  );
}

function Loading() {
  return <p role="status">{t('Loading …', 'Wird geladen …')}</p>;
}

function Faults({ faults }: { readonly faults: readonly AdvisedFault[] }) {
  if (faults.length === 0)
    return <p class="gateway-good">{t('Nothing is wrong.', 'Alles in Ordnung.')}</p>;
  return (
    <ul class="gateway-faults">
      {faults.map(({ code, message, advice, acknowledgeable, subject }) => (
        <li key={`${message} ${subject?.id}`}>
          <strong>{message}</strong>
          {subject && (
            <p>
              {subjectNames()[subject.type]} {nameOf(subject)}
              {subject.via && ` ${t(`through ${subject.via.name}`, `über ${subject.via.name}`)}`}
            </p>
          )}
          <p>
            <span class="hint">{t('What to do:', 'Was zu tun ist:')}</span>{' '}
            <CodeText text={advice} />
          </p>
          {code === 'unknown-device' && subject && <UnknownDevice id={subject.id} />}
          {acknowledgeable && <AcknowledgeButton code={code} />}
        </li>
      ))}
    </ul>
  );
}

function nameOf({ id, name }: NonNullable<AdvisedFault['subject']>): string {
  return name === id ? name : `${name} (${id})`;
}

/** The list follows `gateway/status`, which reports the end of the fault. */
function AcknowledgeButton({ code }: { readonly code: string }) {
  const change = useChange();
  return (
    <>
      <FailureText failure={change.failure} />
      <button
        type="button"
        aria-disabled={change.isPending}
        onClick={() =>
          change.send(
            () => acknowledgeFault({ code }),
            () => undefined,
          )
        }
      >
        {t('Acknowledge', 'Quittieren')}
      </button>
    </>
  );
}
