/**
 * Why alarms might not come or not arrive: faults of the gateway, offline sensors, silent ones.
 *
 * Beside alarms they are one line, which opens: the alarms stay in sight.
 */

import { useState } from 'preact/hooks';
import { type AdvisedFault, type Location, listFaults } from '../api.js';
import { dateTime, language, t } from '../language.js';
import { hrefTo } from '../place.js';
import { session } from '../session.js';
import { type Loaded, useLoaded } from '../ui/load.js';
import { andMore } from './alarm.js';
import { openAlarms } from './open-alarms.js';
import { type Status, sensorName, statusesOf, useSilentSensors } from './sensors.js';

/** With more homes, sensors are named only for a chosen home. */
const MAX_HOMES_WITH_SENSORS = 10;
const MAX_SENSORS_NAMED = 6;
const MAX_FAULTS_NAMED = 3;
const RETRY_MS = 10_000;

interface Notice {
  readonly key: string;
  /** Whether alarms are lost while it lasts. */
  readonly isSevere: boolean;
  /** The beginning, in bold. */
  readonly lead: string;
  readonly text: string;
  readonly link?: { readonly href: string; readonly text: string } | undefined;
}

interface NoticesProps {
  /** Those that the board shows. */
  readonly homes: readonly Location[];
  readonly isBesideAlarms: boolean;
  readonly isKiosk: boolean;
}

export function Notices({ homes, isBesideAlarms, isKiosk }: NoticesProps) {
  const [isOpen, setOpen] = useState(false);
  const { data: faults = [] } = useFaults();
  const withSensors = homes.length > MAX_HOMES_WITH_SENSORS ? [] : homes;
  const notices = [
    faultNotice(faults, isKiosk),
    ...withSensors.map((home) => offlineNotice(home, isKiosk)),
    useSilentNotice(withSensors),
  ].filter((notice) => notice !== undefined);
  if (notices.length === 0) return null;
  const severe = notices.filter(({ isSevere }) => isSevere);
  const ordered = [...severe, ...notices.filter(({ isSevere }) => !isSevere)];
  const list = (
    <div class="board-notices">
      {ordered.map(({ key, isSevere, lead, text, link }) => (
        <p key={key} role="status" class={isSevere ? 'severe' : undefined}>
          <strong>{lead}</strong> {text}{' '}
          {link !== undefined && !isKiosk && <a href={link.href}>{link.text}</a>}
        </p>
      ))}
    </div>
  );
  if (!isBesideAlarms || isKiosk) return list;
  const count = ordered.length;
  return (
    <details
      class="board-notices-line"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary class={severe.length > 0 ? 'severe' : undefined}>
        {(isOpen || count > 1) && <strong>{noticesText(count)} </strong>}
        {!isOpen && (
          <span role="status">{ordered.map(({ lead, text }) => `${lead} ${text}`).join(' ')}</span>
        )}
      </summary>
      {isOpen && list}
    </details>
  );
}

function noticesText(count: number): string {
  return count === 1 ? t('1 notice', '1 Hinweis') : t(`${count} notices`, `${count} Hinweise`);
}

/** The gateway's faults, read immediately and again whenever `gateway/status` reports them. */
function useFaults(): Loaded<AdvisedFault[]> {
  return useLoaded(() => listFaults(), [language.value], {
    onTopic: /^gateway\/status$/,
    retryMs: RETRY_MS,
  });
}

/** The board names the silent sensors with their rooms; a runtime out of support says nothing about alarms. */
const NOT_SHOWN = ['device-silent', 'runtime-unsupported'];
/** A receiver that answers, but takes no alarms. */
const REFUSALS = ['output-failing', 'bridge-refused'];

/** The faults of the gateway: first those that stop it, then who gets no alarms. */
function faultNotice(data: readonly AdvisedFault[], isKiosk: boolean): Notice | undefined {
  const faults = data.filter((one) => !NOT_SHOWN.includes(one.code) && !isToldOtherwise(one, data));
  if (faults.length === 0) return undefined;
  const isWithoutAlarms = ({ code }: AdvisedFault) =>
    code === 'alarms-waiting' || REFUSALS.includes(code);
  const rank = (fault: AdvisedFault) => (fault.stops ? 0 : isWithoutAlarms(fault) ? 1 : 2);
  const named = faults
    .toSorted((one, other) => rank(one) - rank(other))
    .slice(0, MAX_FAULTS_NAMED)
    .map(faultText);
  const left = faults.length - named.length;
  const isSevere = faults.some(({ stops }) => stops);
  const isForReader = session.isAdmin.value && !isKiosk;
  const tellSomeone = t(
    'Please tell the person who looks after the gateway.',
    'Bitte geben Sie der Technik Bescheid.',
  );
  return {
    key: 'faults',
    isSevere,
    lead: isSevere
      ? t('The gateway is not ready:', 'Das Gateway ist nicht bereit:')
      : t('Fault of the gateway:', 'Störung des Gateways:'),
    text: [
      ...named,
      ...(left > 0 ? [`(${andMore(left)})`] : []),
      ...(isForReader ? [] : [tellSomeone]),
    ].join(' '),
    link: isForReader
      ? { href: hrefTo('/gateway'), text: t('What to do', 'Was zu tun ist') }
      : undefined,
  };
}

/** Whether alarms wait for a receiver that is named already, for it refuses them. */
function isToldOtherwise({ code, subject }: AdvisedFault, all: readonly AdvisedFault[]): boolean {
  if (code !== 'alarms-waiting' || subject === undefined) return false;
  return all.some((other) => REFUSALS.includes(other.code) && other.subject?.id === subject.id);
}

/** Who gets no alarms, and since when, in a nurse's words; anything else in those of the gateway. */
function faultText(fault: AdvisedFault): string {
  const { code, subject, message } = fault;
  const since = dateTime(fault.since);
  const who = receiverOf(fault);
  if (code === 'alarms-waiting')
    return t(
      `${who} has got no alarms since ${since}.`,
      `${who} bekommt seit ${since} keine Alarme.`,
    );
  if (REFUSALS.includes(code))
    return t(
      `${who} has taken no alarms since ${since}.`,
      `${who} nimmt seit ${since} keine Alarme an.`,
    );
  return subject === undefined ? message : message.replace(/\.?$/, ` (${subject.name}).`);
}

/** Who gets alarms, by the type of the fault's subject. */
function receiverOf({ subject }: AdvisedFault): string {
  const name = subject?.name ?? '';
  if (subject?.type === 'session') return t(`The nurse call ${name}`, `Die Rufanlage ${name}`);
  if (subject?.type === 'bridge')
    return t(`The system behind the bridge ${name}`, `Das System hinter der Brücke ${name}`);
  if (subject?.type === 'webhook') return t(`The receiver ${name}`, `Der Empfänger ${name}`);
  return t('A nurse call or another receiver', 'Eine Rufanlage oder ein anderer Empfänger');
}

/** The offline sensors of a home, by name and room: no alarm can come from them. */
function offlineNotice(home: Location, isKiosk: boolean): Notice | undefined {
  const seen = statusesOf(home);
  const offline = seen.filter(({ isOnline }) => !isOnline);
  if (offline.length === 0 || !openAlarms.isRead.value) return undefined;
  const isSevere = offline.length === seen.length;
  const prefix = openAlarms.homes.value.length > 1 ? `${home.name}: ` : '';
  const where = placeOf(home, seen);
  const count = offline.length;
  const some =
    count === 1
      ? t('1 sensor is offline', '1 Sensor ist offline')
      : t(`${count} sensors are offline`, `${count} Sensoren sind offline`);
  return {
    key: `offline ${home.id}`,
    isSevere,
    lead: isSevere
      ? t(
          `All sensors of ${where} are offline. No alarm can come from them.`,
          `Alle Sensoren von ${where} sind offline. Von ihnen kann kein Alarm kommen.`,
        )
      : `${prefix}${some}:`,
    text: sensorNames(offline),
    link: isKiosk
      ? undefined
      : { href: hrefTo(`/home/${home.id}`), text: t('Show the home', 'Heim anzeigen') },
  };
}

/** The home; with rights over groups only, she does not see the sensors of the others. */
function placeOf(home: Location, seen: readonly Status[]): string {
  if (session.may('viewer', home.id, null)) return home.name;
  return [...new Set(seen.flatMap(({ group }) => group?.name ?? []))].join(', ');
}

function useSilentNotice(homes: readonly Location[]): Notice | undefined {
  const { data: silent, failure } = useSilentSensors(homes);
  if (failure !== undefined)
    return {
      key: 'silent',
      isSevere: false,
      lead: t(
        'Which sensors are silent is not known at the moment.',
        'Welche Sensoren verstummt sind, ist zurzeit nicht bekannt.',
      ),
      text: '',
    };
  if (silent === undefined || silent.length === 0) return undefined;
  return {
    key: 'silent',
    isSevere: true,
    lead:
      silent.length === 1
        ? t('Nothing comes from 1 sensor any more:', 'Von 1 Sensor kommt nichts mehr:')
        : t(
            `Nothing comes from ${silent.length} sensors any more:`,
            `Von ${silent.length} Sensoren kommt nichts mehr:`,
          ),
    text: sensorNames(silent),
  };
}

function sensorNames(sensors: readonly Pick<Status, 'device' | 'room'>[]): string {
  const named = sensors.slice(0, MAX_SENSORS_NAMED).map(sensorName).join(', ');
  const left = sensors.length - MAX_SENSORS_NAMED;
  return left > 0 ? `${named} ${andMore(left)}` : named;
}
