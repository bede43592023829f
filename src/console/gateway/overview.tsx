/** Whether the gateway is ready, what is wrong with it and what to do, and what a home's devices sent in vain. */

import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { type AdvisedFault, acknowledgeFault, listFaults } from '../api.js';
import { language, number, t } from '../language.js';
import { live } from '../live.js';
import { hrefTo } from '../place.js';
import { ownValues } from '../request.js';
import { FailureText } from '../ui/bits.js';
import { QrCode } from '../ui/handover.js';
import { useChange, useLoaded } from '../ui/load.js';
import { homeHref, homeOf } from './named.js';
import { RejectedPublishes } from './rejected.js';
import { UnknownDevice } from './unknown-device.js';

const ON_STATUS = { onTopic: /^gateway\/status$/ };

export function Overview() {
  // The gateway writes the words, and may have new faults as soon as it is away.
  const dependencies = [language.value, live.state.value === 'lost'];
  const { data: faults, failure, again } = useLoaded(listFaults, dependencies, ON_STATUS);
  return (
    <>
      <FailureText failure={failure} onRetry={again} />
      {faults === undefined && failure === undefined && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {faults !== undefined && failure === undefined && (
        <>
          <Readiness isReady={faults.every(({ stops }) => !stops)} />
          <p>
            {t('Version', 'Version')} {ownValues().version}
          </p>
          <h2>{t('Faults', 'Störungen')}</h2>
          {faults.length === 0 ? (
            <p class="good">{t('Nothing is wrong.', 'Alles in Ordnung.')}</p>
          ) : (
            <ul class="gateway-faults plain">
              {[...grouped(faults)].map(([key, group]) => (
                <FaultGroup key={key} {...group} />
              ))}
            </ul>
          )}
        </>
      )}
      <RejectedPublishes />
      <Authority />
    </>
  );
}

/** Where phones and sensors get the certificate that has them trust the gateway, if it issues its own. */
function Authority() {
  const { ca } = ownValues();
  if (ca === '') return null;
  const { href } = new URL(ca, location.origin + location.pathname);
  return (
    <section>
      <h2>{t('Certificate authority', 'Zertifizierungsstelle')}</h2>
      <p>
        {t(
          'Sensors, phones and computers trust this gateway once they have its authority: ',
          'Sensoren, Telefone und Rechner vertrauen diesem Gateway, sobald sie seine Zertifizierungsstelle kennen: ',
        )}
        <a href={href}>{href}</a>
      </p>
      <QrCode text={href} label={t('The link as a QR code', 'Der Link als QR-Code')} />
    </section>
  );
}

function Readiness({ isReady }: { readonly isReady: boolean }) {
  return (
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
  );
}

type Subject = NonNullable<AdvisedFault['subject']>;

/** What is wrong in the same words, and with whom. */
interface Problem {
  readonly subjects: Subject[];
  /** How many there are besides. */
  more: number;
}

/** Faults with the same code and advice. */
interface Group {
  readonly code: string;
  readonly advice: string;
  acknowledgeable: boolean;
  readonly problems: Map<string, Problem>;
}

function grouped(faults: readonly AdvisedFault[]): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const { code, advice, message, subject, acknowledgeable, more = 0 } of faults) {
    const key = `${code} ${advice}`;
    const group = groups.get(key) ?? { code, advice, acknowledgeable, problems: new Map() };
    groups.set(key, group);
    group.acknowledgeable ||= acknowledgeable;
    // One that stands for others comes after those; its own message has their number.
    const last = [...group.problems.keys()].at(-1);
    const text = more > 0 && last !== undefined ? last : message;
    const problem = group.problems.get(text) ?? { subjects: [], more: 0 };
    group.problems.set(text, problem);
    problem.more += more;
    if (subject !== undefined) problem.subjects.push(subject);
  }
  return groups;
}

function FaultGroup({ code, advice, acknowledgeable, problems }: Group) {
  return (
    <li class="card">
      {[...problems].map(([message, problem]) => (
        <Fragment key={message}>
          <strong>{message}</strong>
          {code === 'unknown-device' ? <UnknownDevices {...problem} /> : <Subjects {...problem} />}
        </Fragment>
      ))}
      <p>
        <span class="hint">{t('What to do:', 'Was zu tun ist:')}</span> <WithCode text={advice} />
      </p>
      {acknowledgeable && <AcknowledgeButton code={code} />}
    </li>
  );
}

function UnknownDevices({ subjects, more }: Problem) {
  return (
    <>
      {subjects.map((subject) => (
        <p key={subject.id} class="row">
          <SubjectName subject={subject} />
          <UnknownDevice id={subject.id} />
        </p>
      ))}
      {more > 0 && <p>{andMore(more)}</p>}
    </>
  );
}

const andMore = (count: number) => t(`and ${number(count)} more`, `und ${number(count)} weitere`);

/** A text with code in backquotes. */
export function WithCode({ text }: { readonly text: string }) {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

/** As many are named at first. */
const FIRST_NAMES = 6;

/** “20 devices: Bed 1, Bed 2, and 18 more” */
function Subjects({ subjects, more }: Problem) {
  const [isWhole, setWhole] = useState(false);
  const [first] = subjects;
  if (first === undefined) return null;
  const shown = isWhole ? subjects : subjects.slice(0, FIRST_NAMES);
  const hidden = subjects.length - shown.length;
  const total = subjects.length + more;
  return (
    <p>
      {total > 1 && `${number(total)} ${subjectNames()[first.type]?.[1] ?? ''}: `}
      {shown.map((subject, index) => (
        <Fragment key={`${subject.type} ${subject.id}`}>
          {index > 0 && ', '}
          {total === 1 && `${subjectNames()[first.type]?.[0] ?? ''} `}
          <SubjectName subject={subject} />
        </Fragment>
      ))}
      {hidden > 0 && (
        <>
          {' '}
          <button type="button" onClick={() => setWhole(true)}>
            {andMore(hidden + more)}
          </button>
        </>
      )}
      {hidden === 0 && more > 0 && ` ${andMore(more)}`}
    </p>
  );
}

/** One and several of what a fault is about: `FAULT_SUBJECTS` of the gateway. */
export const subjectNames = (): Readonly<
  Record<string, readonly [one: string, several: string]>
> => ({
  location: [t('Home', 'Heim'), t('homes', 'Heime')],
  room: [t('Room', 'Zimmer'), t('rooms', 'Zimmer')],
  group: [t('Group', 'Gruppe'), t('groups', 'Gruppen')],
  device: [t('Device', 'Gerät'), t('devices', 'Geräte')],
  'access-token': [t('Access token', 'Zugangstoken'), t('access tokens', 'Zugangstokens')],
  bridge: [t('Bridge', 'Brücke'), t('bridges', 'Brücken')],
  session: [t('Session', 'Sitzung'), t('sessions', 'Sitzungen')],
  webhook: [t('Webhook', 'Webhook'), t('webhooks', 'Webhooks')],
  address: [t('Address', 'Adresse'), t('addresses', 'Adressen')],
});

/** The name of what a fault is about; it leads to where one finds more about it. */
function SubjectName({ subject }: { readonly subject: Subject }) {
  const { name, via } = subject;
  const href = hrefOf(subject);
  return (
    <span>
      {href === undefined ? name : <a href={href}>{name}</a>}
      {via !== undefined && ` ${t(`through ${via.name}`, `über ${via.name}`)}`}
    </span>
  );
}

function hrefOf({ type, id }: Subject): string | undefined {
  const locationId = homeOf(id);
  const parts: Readonly<Record<string, string>> = {
    'access-token': 'tokens',
    bridge: 'bridges',
    webhook: 'webhooks',
    session: 'connections',
  };
  const part = parts[type];
  if (part !== undefined) return hrefTo(`/gateway/${part}`);
  if (type === 'location') return homeHref(id);
  if (type === 'device' && locationId !== undefined) return homeHref(locationId, id);
  return undefined;
}

/** The faults are read again when `gateway/status` tells of the end. */
function AcknowledgeButton({ code }: { readonly code: string }) {
  const change = useChange();
  const press = () =>
    change.send(
      () => acknowledgeFault({ code }),
      () => undefined,
    );
  return (
    <>
      <FailureText failure={change.failure} />
      <button type="button" aria-disabled={change.isPending} onClick={press}>
        {t('Acknowledge', 'Quittieren')}
      </button>
    </>
  );
}
