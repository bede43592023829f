import { useEffect, useRef, useState } from 'preact/hooks';
import { listLocations, listRejectedPublishes, type RejectedPublish } from '../../../api.js';
import { t } from '../../../language.js';
import { type Failure, failureOf } from '../../../request.js';
import { TimeAgo } from '../../../ui/bits.js';
import { type Column, List } from '../list.js';
import { LocationSelect } from '../location-select.js';
import { PrincipalName } from '../names.js';
import { textOfBase64 } from '../payload.js';

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

/** The page never shows more. */
const MAX_SHOWN = 500;

interface Read {
  readonly publishes: readonly RejectedPublish[];
  readonly homes: number;
  readonly allHomes: number;
  readonly failure: Failure | undefined;
}

/** Publishes that could not be used, read home by home on request. */
export function RejectedList() {
  const [locationId, setLocationId] = useState('');
  const { read, start, forget } = useRejected(locationId);
  const isReading = read !== undefined && read.homes < read.allHomes && !read.failure;
  const shown = read?.publishes.slice(0, MAX_SHOWN);
  const columns: readonly Column<RejectedPublish>[] = [
    { head: t('Received', 'Empfangen'), cell: ({ receivedAt }) => <TimeAgo at={receivedAt} /> },
    {
      head: t('Device', 'Gerät'),
      cell: ({ deviceId }) => <PrincipalName type="device" id={deviceId} />,
    },
    { head: t('Reason', 'Grund'), cell: ({ reason }) => reasonTexts()[reason] ?? reason },
    { head: t('Topic', 'Topic'), cell: ({ topic }) => <code class="gateway-id">{topic}</code> },
    {
      head: t('Content', 'Inhalt'),
      cell: ({ base64 }) => <code class="gateway-payload">{textOfBase64(base64)}</code>,
    },
  ];
  return (
    <List
      title={t('Rejected publishes', 'Unbrauchbare Sendungen')}
      hint={t(
        'What devices sent and could not be used, or only in part. The newest of each home.',
        'Was Geräte gesendet haben und nicht oder nur zum Teil verwendet werden konnte. Die neuesten jedes Heims.',
      )}
      loaded={{ failure: read?.failure, again: start, isPending: isReading }}
      rows={read === undefined ? [] : shown}
      keyOf={({ deviceId, receivedAt, topic, base64 }) => deviceId + receivedAt + topic + base64}
      columns={columns}
      empty={
        read === undefined || isReading ? '' : t('None were rejected.', 'Keine waren unbrauchbar.')
      }
      tools={
        <>
          <LocationSelect
            value={locationId}
            onChange={(id) => {
              setLocationId(id);
              forget();
            }}
          />
          <button
            type="button"
            aria-disabled={isReading}
            onClick={() => {
              if (!isReading) start();
            }}
          >
            {t('Show', 'Anzeigen')}
          </button>
        </>
      }
      foot={
        read !== undefined && (
          <p role="status">
            {isReading
              ? t(
                  `${read.homes} of ${read.allHomes} homes read …`,
                  `${read.homes} von ${read.allHomes} Heimen gelesen …`,
                )
              : t(
                  `${read.publishes.length} rejected publishes`,
                  `${read.publishes.length} unbrauchbare Sendungen`,
                )}{' '}
            {read.publishes.length > MAX_SHOWN &&
              t(
                `The newest ${MAX_SHOWN} of ${read.publishes.length} are shown.`,
                `Die neuesten ${MAX_SHOWN} von ${read.publishes.length} werden angezeigt.`,
              )}
          </p>
        )
      }
    />
  );
}

/** Reads the rejected publishes of one home, or of all homes one after the other. */
function useRejected(locationId: string) {
  const [read, setRead] = useState<Read>();
  const turn = useRef(0);
  const overtake = () => {
    turn.current += 1;
  };
  useEffect(() => overtake, []);
  const start = async () => {
    overtake();
    const own = turn.current;
    for await (const result of readRejected(locationId)) {
      // Another home was chosen, or the page was left.
      if (turn.current !== own) return;
      setRead(result);
    }
  };
  const forget = () => {
    overtake();
    setRead(undefined);
  };
  return { read, start: () => void start(), forget };
}

/** Yields the result so far after each home; a failure ends it. */
async function* readRejected(locationId: string): AsyncGenerator<Read> {
  let result: Read = { publishes: [], homes: 0, allHomes: 1, failure: undefined };
  yield result;
  try {
    const homes = locationId === '' ? (await listLocations()).map(({ id }) => id) : [locationId];
    result = { ...result, allHomes: homes.length };
    yield result;
    for (const home of homes) {
      const more = await listRejectedPublishes({ locationId: home });
      const publishes = [...result.publishes, ...more].sort((one, other) =>
        other.receivedAt.localeCompare(one.receivedAt),
      );
      result = { ...result, publishes, homes: result.homes + 1 };
      yield result;
    }
  } catch (error) {
    yield { ...result, failure: failureOf(error) };
  }
}
