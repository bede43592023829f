import { type AccessToken, listGroups } from '../../../api.js';
import { t } from '../../../language.js';
import { useLoaded } from '../../../ui/load.js';
import { LocationName } from '../names.js';

export const roleNames = () => ({
  viewer: t('Viewer', 'Lesen'),
  responder: t('Responder', 'Reagieren'),
  manager: t('Manager', 'Verwalten'),
  admin: t('Administrator', 'Alles'),
  publisher: t('Publisher', 'Veröffentlichen'),
});

type Grants = AccessToken['grants'];

/** What a token may do, in words. */
export function GrantsText({ grants }: { readonly grants: Grants }) {
  return (
    <ul class="gateway-grants">
      {grants.map((grant) => (
        <li key={JSON.stringify(grant)}>
          <GrantText grant={grant} />
        </li>
      ))}
    </ul>
  );
}

function GrantText({ grant: { location, group, role } }: { readonly grant: Grants[number] }) {
  return (
    <>
      {roleNames()[role]}:{' '}
      {location === '*' ? t('All homes', 'Alle Heime') : <LocationName id={location} />}
      {group !== undefined && (
        <>
          , <GroupName locationId={location} groupId={group} />
        </>
      )}
    </>
  );
}

interface GroupNameProps {
  readonly locationId: string;
  readonly groupId: string;
}

function GroupName({ locationId, groupId }: GroupNameProps) {
  const groups = useLoaded(() => listGroups({ locationId }), [locationId]);
  const name = groups.data?.find(({ id }) => id === groupId)?.name;
  return <span title={groupId}>{t(`group ${name ?? groupId}`, `Gruppe ${name ?? groupId}`)}</span>;
}
