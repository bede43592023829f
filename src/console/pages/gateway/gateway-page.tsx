import { useEffect, useMemo } from 'preact/hooks';
import { useConsole, useWords } from '../../console-parts.js';
import { hrefTo } from '../../routing.js';
import { AuditPart } from './audit-part.js';
import { BridgesPart } from './bridges-part.js';
import { DeniedList } from './denied-list.js';
import './gateway.css';
import { GATEWAY_WORDS } from './gateway-words.js';
import { Names, NamesContext } from './names.js';
import { OpenConnectionList } from './open-connection-list.js';
import { OverviewPart } from './overview-part.js';
import { SessionList } from './session-list.js';
import { TokensPart } from './tokens-part.js';

const PARTS = [
  { name: 'overview', path: '/gateway', Part: OverviewPart },
  { name: 'connections', path: '/gateway/connections', Part: ConnectionsPart },
  { name: 'bridges', path: '/gateway/bridges', Part: BridgesPart },
  { name: 'tokens', path: '/gateway/tokens', Part: TokensPart },
  { name: 'audit', path: '/gateway/audit', Part: AuditPart },
] as const;

/** How the gateway itself is, for administrators: faults, who is connected, tokens, who did what. */
export function GatewayPage() {
  const { session } = useConsole();
  const words = useWords(GATEWAY_WORDS);
  return (
    <div class="gateway-page">
      <h1>{words.title}</h1>
      {session.isAdmin.value ? (
        <Parts />
      ) : (
        <p class="failure" role="alert">
          {words.notPermitted}
        </p>
      )}
    </div>
  );
}

/** For whom something waits, who is connected, and who was denied something. */
function ConnectionsPart() {
  return (
    <>
      <SessionList />
      <OpenConnectionList />
      <DeniedList />
    </>
  );
}

function Parts() {
  const { routing } = useConsole();
  const words = useWords(GATEWAY_WORDS);
  const names = useMemo(() => new Names(), []);
  useEffect(() => names.load(), [names]);
  const { path } = routing.place.value;
  const shown = PARTS.find((part) => part.path === path);
  return (
    <NamesContext.Provider value={names}>
      <nav class="gateway-tabs" aria-label={words.parts}>
        {PARTS.map((part) => (
          <a
            key={part.name}
            href={hrefTo(part.path)}
            aria-current={part === shown ? 'page' : undefined}
          >
            {words.tabs[part.name]}
          </a>
        ))}
      </nav>
      {shown === undefined ? <p>{words.noPart}</p> : <shown.Part />}
    </NamesContext.Provider>
  );
}
