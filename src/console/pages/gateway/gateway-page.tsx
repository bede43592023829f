import { useEffect, useMemo } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { hrefTo } from '../../place.js';
import { AuditPart } from './audit/audit-part.js';
import { DeniedList } from './connections/denied-list.js';
import { BridgesPart } from './destinations/bridges-part.js';
import { WebhooksPart } from './destinations/webhooks-part.js';
import './gateway.css';
import { t } from '../../language.js';
import { OpenConnectionList } from './connections/open-connection-list.js';
import { SessionList } from './connections/session-list.js';
import { Names, NamesContext } from './names.js';
import { OverviewPart } from './overview/overview-part.js';
import { TokensPart } from './tokens/tokens-part.js';

const partNames = () => ({
  overview: t('Overview', 'Überblick'),
  connections: t('Connections', 'Verbindungen'),
  bridges: t('Bridges', 'Brücken'),
  webhooks: t('Webhooks', 'Webhooks'),
  tokens: t('Access tokens', 'Zugangstokens'),
  audit: t('Audit trail', 'Protokoll'),
});

const PARTS = [
  { name: 'overview', path: '/gateway', Part: OverviewPart },
  { name: 'connections', path: '/gateway/connections', Part: ConnectionsPart },
  { name: 'bridges', path: '/gateway/bridges', Part: BridgesPart },
  { name: 'webhooks', path: '/gateway/webhooks', Part: WebhooksPart },
  { name: 'tokens', path: '/gateway/tokens', Part: TokensPart },
  { name: 'audit', path: '/gateway/audit', Part: AuditPart },
] as const;

/** The state of the gateway itself, for administrators: faults, connections, tokens, audit trail. */
export function GatewayPage() {
  const { session } = useConsole();
  return (
    <div class="gateway-page">
      <h1>{t('Gateway', 'Gateway')}</h1>
      {session.isAdmin.value ? (
        <Parts />
      ) : (
        <p class="failure" role="alert">
          {t(
            'This page is for administrators. Your access token may not see it.',
            'Diese Seite ist für die Verwaltung. Ihr Zugangstoken darf sie nicht sehen.',
          )}
        </p>
      )}
    </div>
  );
}

/** Waiting sessions, open connections, and denials. */
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
  const names = useMemo(() => new Names(), []);
  useEffect(() => names.load(), [names]);
  const { path } = routing.place.value;
  const shown = PARTS.find((part) => part.path === path);
  return (
    <NamesContext.Provider value={names}>
      <nav class="gateway-tabs" aria-label={t('Parts of this page', 'Teile dieser Seite')}>
        {PARTS.map((part) => (
          <a
            key={part.name}
            href={hrefTo(part.path)}
            aria-current={part === shown ? 'page' : undefined}
          >
            {partNames()[part.name]}
          </a>
        ))}
      </nav>
      {shown === undefined ? (
        <p>{t('There is no such part of the page.', 'Diesen Teil der Seite gibt es nicht.')}</p>
      ) : (
        <shown.Part />
      )}
    </NamesContext.Provider>
  );
}
