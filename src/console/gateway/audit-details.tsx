/** The details of an audit record: grants in words, and the names of what is moved instead of ids. */

import { useState } from 'preact/hooks';
import { type AuditEvent, type Grant, getPart, type Part } from '../api.js';
import { KINDS, kindName } from '../kinds.js';
import { dateTime, t } from '../language.js';
import { recordOf } from '../request.js';
import { type Fact, Facts } from '../ui/bits.js';
import { useLoaded } from '../ui/load.js';
import { operationNames } from './connections.js';
import { GrantsText, ROLES, useGroupNames } from './grants.js';
import { Deleted, DeviceName, homeOf } from './named.js';

interface AuditDetailsProps {
  readonly event: AuditEvent;
}

/** Drawn once it is opened: names are read for it. */
export function AuditDetails({ event }: AuditDetailsProps) {
  const [isOpen, setOpen] = useState(false);
  const { id } = event;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={t(`Details of record ${id}`, `Einzelheiten des Eintrags ${id}`)}>
        {t('Details', 'Einzelheiten')}
      </summary>
      {isOpen && <OpenDetails event={event} />}
    </details>
  );
}

function OpenDetails({ event }: AuditDetailsProps) {
  const { id, actor, resourceId, details } = event;
  const facts = Object.entries(details).map(
    ([key, detail]): Fact => [
      detailName(key),
      <Detail key={key} name={key} detail={detail} event={event} />,
    ],
  );
  return (
    <Facts
      of={[
        ...facts,
        [t('Id', 'ID'), resourceId && <code>{resourceId}</code>],
        [t('Request', 'Anfrage'), actor.requestId && <code>{actor.requestId}</code>],
        [t('Record', 'Eintrag'), id],
      ]}
    />
  );
}

/** The names of details; those of what was before, and of the first of several, follow from them. */
const detailNames = (): Readonly<Record<string, string>> => ({
  name: t('Name', 'Name'),
  silentAfterSeconds: t('Silent after (s)', 'Verstummt nach (s)'),
  grants: t('Grants', 'Rechte'),
  keys: t('Recordings', 'Aufnahmen'),
  key: t('Recording', 'Aufnahme'),
  kind: t('Kind', 'Art'),
  expiresAt: t('Ends', 'Endet'),
  groupId: t('Group', 'Gruppe'),
  roomId: t('Room', 'Zimmer'),
  locationId: t('Home', 'Heim'),
  deviceId: t('Device', 'Gerät'),
  operation: t('What', 'Was'),
  method: t('Method', 'Methode'),
  path: t('Path', 'Pfad'),
  topic: t('Topic', 'Topic'),
  username: t('User name', 'Benutzername'),
  message: t('Message', 'Meldung'),
  clientId: t('Client id', 'Client-ID'),
  count: t('How many', 'Wie viele'),
  firstAt: t('First at', 'Zuerst um'),
  lastAt: t('Last at', 'Zuletzt um'),
  groups: t('Groups', 'Gruppen'),
  rooms: t('Rooms', 'Zimmer'),
});

function detailName(key: string): string {
  const names = detailNames();
  const [, which = '', rest = ''] = /^(previous|first)(.+)$/.exec(key) ?? [];
  const name = names[`${rest.charAt(0).toLowerCase()}${rest.slice(1)}`];
  if (names[key] !== undefined || name === undefined) return names[key] ?? key;
  return which === 'previous'
    ? t(`${name} before`, `${name} davor`)
    : t(`${name} at first`, `${name} zuerst`);
}

interface DetailProps extends AuditDetailsProps {
  readonly name: string;
  readonly detail: AuditEvent['details'][string];
}

function Detail({ name, detail, event }: DetailProps) {
  if (detail === null) return <>–</>;
  if (typeof detail !== 'string') {
    const grants = detail.filter((one) => typeof one !== 'string');
    return grants.length > 0 ? <Grants grants={grants} /> : detail.join(', ');
  }
  if (name === 'previousGrants') return <Grants grants={grantsIn(detail)} />;
  if (/At$/.test(name)) return <time>{dateTime(detail)}</time>;
  if (/^(previous)?(location|group|room|device)Id$/i.test(name))
    return <PlaceName name={name} id={detail} event={event} />;
  const kind = KINDS.find((one) => one === detail);
  if (name === 'kind' && kind !== undefined) return <>{kindName(kind)}</>;
  if (/operation$/i.test(name)) return <>{operationNames()[detail] ?? detail}</>;
  return <>{detail}</>;
}

function Grants({ grants }: { readonly grants: readonly Grant[] }) {
  return <GrantsText grants={grants} groups={useGroupNames(grants)} />;
}

/** Grants that a record has as text. */
function grantsIn(text: string): Grant[] {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) return [];
  return list.flatMap((one: unknown): Grant[] => {
    const { location, group, role } = recordOf(one);
    const known = ROLES.find((name) => name === role);
    if (typeof location !== 'string' || known === undefined) return [];
    return [{ location, role: known, group: typeof group === 'string' ? group : undefined }];
  });
}

interface PlaceNameProps extends AuditDetailsProps {
  readonly name: string;
  readonly id: string;
}

/** A home, group, room or device by its present name, which is read for it. */
function PlaceName({ name, id, event }: PlaceNameProps) {
  const { kind, locationId } = placeOf(name, id, event);
  const part = useLoaded(() => getPart({ locationId, kind, id }), [locationId, kind, id]);
  if (part.failure !== undefined) return <Deleted id={id} />;
  if (part.data === undefined) return <code>{id}</code>;
  const present: unknown = JSON.parse(part.data.text);
  const text = String(recordOf(present)['name']);
  return kind === 'device' ? <DeviceName id={id} name={text} /> : text;
}

function placeOf(name: string, id: string, event: AuditEvent): Part {
  const kind = (['group', 'room', 'device'] as const).find((one) =>
    name.toLowerCase().includes(one),
  );
  if (kind === undefined) return { kind: 'location', id, locationId: id };
  const { locationId, details } = event;
  // After a move the room is in the other home.
  const moved = /^previous/.test(name) ? undefined : details['locationId'];
  const there = kind === 'device' ? homeOf(id) : moved;
  return { kind, id, locationId: typeof there === 'string' ? there : (locationId ?? '') };
}
