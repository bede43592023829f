import { type DeniedConnection, listDeniedConnections } from '../../../api.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { CONNECTIONS_WORDS, DENIED_DE } from './connections-words.js';

/** What was denied over MQTT, and why clients could not connect. */
export function DeniedList() {
  const words = useWords(CONNECTIONS_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const { language } = useConsole();
  const names = useNames();
  const denied = useRefreshed(listDeniedConnections, []);
  const isGerman = language.current.value === 'de';
  const reasonOf = ({ code, detail }: DeniedConnection) => (isGerman ? DENIED_DE[code] : detail);
  const columns: readonly Column<DeniedConnection>[] = [
    { head: common.when, cell: ({ at }) => <TimeAgo at={at} /> },
    { head: common.address, cell: ({ address }) => address },
    { head: common.clientId, cell: ({ clientId }) => <code class="gateway-id">{clientId}</code> },
    {
      head: words.userName,
      cell: ({ username }) => username !== null && <UserName id={username} />,
    },
    { head: words.what, cell: ({ operation }) => words.operations[operation] },
    { head: common.reason, cell: reasonOf },
    {
      head: common.topic,
      cell: ({ topic }) => topic !== null && <code class="gateway-id">{topic}</code>,
    },
  ];
  return (
    <List
      title={words.denied}
      hint={words.deniedHint}
      loaded={denied}
      rows={denied.data}
      keyOf={(row) => JSON.stringify(row)}
      columns={columns}
      textOf={(row) => {
        const { address, clientId, username, code, topic } = row;
        const name = names.tokens.value.get(username ?? '') ?? '';
        return [address, clientId, username, code, topic, name, reasonOf(row)].join(' ');
      }}
      empty={words.noneDenied}
      tools={<PauseButton refreshed={denied} />}
    />
  );
}

/** A user name is the id of a device or of an access token. */
function UserName({ id }: { readonly id: string }) {
  const isToken = useNames().tokens.value.has(id);
  return <PrincipalName type={isToken || id === 'admin' ? 'access-token' : 'device'} id={id} />;
}
