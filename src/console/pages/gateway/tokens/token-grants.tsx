import { type AccessToken, listGroups } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { useLoaded } from '../../../ui/use-request.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { LocationName } from '../names.js';
import { TOKENS_WORDS } from './tokens-words.js';

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
  const words = useWords(TOKENS_WORDS);
  const common = useWords(GATEWAY_WORDS);
  return (
    <>
      {words.roles[role]}: {location === '*' ? common.allHomes : <LocationName id={location} />}
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
  const words = useWords(TOKENS_WORDS);
  const groups = useLoaded(() => listGroups({ locationId }), [locationId]);
  const name = groups.data?.find(({ id }) => id === groupId)?.name;
  return <span title={groupId}>{words.inGroup(name ?? groupId)}</span>;
}
