/** What the devices of a home sent and the gateway could not use, or only in part. */

import { useState } from 'preact/hooks';
import { listDevices, listRejectedPublishes, type RejectedPublish } from '../api.js';
import { t } from '../language.js';
import { TimeAgo } from '../ui/bits.js';
import { List } from '../ui/list.js';
import { REFRESHED, useLoaded } from '../ui/load.js';
import { DeviceName, HomeChoice, knownHomes, Payload } from './named.js';

/** Why a publish could not be used: `INVALID_PUBLISH_REASONS` of the gateway. */
export const reasonTexts = (): Readonly<Record<string, string>> => ({
  'not-json': t(
    'The alarm is no JSON in UTF-8. If its kind could be read, it was raised.',
    'Der Alarm ist kein JSON in UTF-8. War seine Art zu lesen, so wurde er ausgelöst.',
  ),
  'not-an-object': t('An alarm must be a JSON object.', 'Ein Alarm muss ein JSON-Objekt sein.'),
  'unknown-kind': t(
    'The kind of the alarm is missing, or none of the eight.',
    'Die Art des Alarms fehlt, oder ist keine der acht.',
  ),
  'invalid-footage': t(
    'The footage is no object, or not under the device’s own prefix. The alarm was raised without it.',
    'Die Aufnahme ist kein Objekt, oder liegt nicht unter dem Präfix des Geräts. Der Alarm wurde ohne sie ausgelöst.',
  ),
  'contradicting-kind': t(
    'The topic and the payload have different kinds.',
    'Topic und Inhalt nennen verschiedene Arten.',
  ),
  'not-permitted': t(
    'The device may publish on its own topics only.',
    'Das Gerät darf nur auf seinen eigenen Topics veröffentlichen.',
  ),
  'payload-too-large': t(
    'The alarm is larger than mqtt.maxAlarmBytes.',
    'Der Alarm ist größer als mqtt.maxAlarmBytes.',
  ),
  'reserved-topic': t('The topic is reserved.', 'Das Topic ist reserviert.'),
  'invalid-topic': t(
    'The topic has too many levels, an empty one, or control characters.',
    'Das Topic hat zu viele Ebenen, eine leere, oder Steuerzeichen.',
  ),
  'invalid-alarm-state': t(
    'A state of an alarm needs the alarm’s id, a state, and no invalid note.',
    'Ein Zustand eines Alarms braucht dessen Id, einen Zustand und keine ungültige Notiz.',
  ),
  'unknown-alarm': t(
    'The device has raised no such alarm in this home.',
    'Das Gerät hat in diesem Heim keinen solchen Alarm ausgelöst.',
  ),
  'alarm-resolved': t(
    'The alarm has been resolved, and cannot be acknowledged any more.',
    'Der Alarm ist erledigt und kann nicht mehr quittiert werden.',
  ),
});

export function RejectedPublishes() {
  const [chosen, setChosen] = useState('');
  const [only, ...others] = knownHomes()?.keys() ?? [];
  // Where there is one home, nobody needs to choose it.
  const locationId = chosen === '' && others.length === 0 ? (only ?? '') : chosen;
  const isChosen = locationId !== '';
  const publishes = useLoaded<RejectedPublish[]>(
    async () => (isChosen ? listRejectedPublishes({ locationId }) : []),
    [locationId],
    isChosen ? REFRESHED : {},
  );
  const devices = useLoaded(
    async () => (isChosen ? listDevices({ locationId }) : []),
    [locationId],
  );
  const nameOf = (id: string) => devices.data?.find((one) => one.id === id)?.name ?? null;
  return (
    <List
      title={t('Rejected publishes', 'Unbrauchbare Sendungen')}
      hint={t(
        'What the devices of a home sent and could not be used, or only in part; the newest first.',
        'Was Geräte eines Heims gesendet haben und nicht oder nur zum Teil verwendet werden konnte; die neuesten zuerst.',
      )}
      loaded={publishes}
      rows={isChosen ? publishes.data : []}
      keyOf={(row) => JSON.stringify(row)}
      empty={isChosen ? t('None were rejected.', 'Keine waren unbrauchbar.') : ''}
      tools={
        <HomeChoice
          value={locationId}
          none={t('Choose a home', 'Heim auswählen')}
          onChange={setChosen}
        />
      }
      columns={[
        [t('Received', 'Empfangen'), ({ receivedAt }) => <TimeAgo at={receivedAt} />],
        [
          t('Device', 'Gerät'),
          ({ deviceId: id }) =>
            devices.data !== undefined && <DeviceName id={id} name={nameOf(id)} />,
        ],
        [t('Reason', 'Grund'), ({ reason }) => reasonTexts()[reason] ?? reason],
        [t('Topic', 'Topic'), ({ topic }) => <code>{topic}</code>],
        [t('Content', 'Inhalt'), ({ base64 }) => <Payload base64={base64} />],
      ]}
    />
  );
}
