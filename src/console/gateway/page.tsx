/**
 * The page of the gateway itself, for administrators: faults, connections, bridges, webhooks, access tokens, the audit
 * trail, a check, each under a path of its own.
 */

import { t } from '../language.js';
import { hrefTo, place } from '../place.js';
import { session } from '../session.js';
import { FailureText } from '../ui/bits.js';
import { Audit } from './audit.js';
import { Connections } from './connections.js';
import { Bridges, Webhooks } from './destinations.js';
import { Doctor } from './doctor.js';
import './gateway.css';
import { useHomes } from './named.js';
import { Overview } from './overview.js';
import { Tokens } from './tokens.js';

const parts = () => [
  { path: '/gateway', name: t('Overview', 'Überblick'), Part: Overview },
  { path: '/gateway/connections', name: t('Connections', 'Verbindungen'), Part: Connections },
  { path: '/gateway/bridges', name: t('Bridges', 'Brücken'), Part: Bridges },
  { path: '/gateway/webhooks', name: t('Webhooks', 'Webhooks'), Part: Webhooks },
  { path: '/gateway/tokens', name: t('Access tokens', 'Zugangstokens'), Part: Tokens },
  { path: '/gateway/audit', name: t('Audit trail', 'Protokoll'), Part: Audit },
  { path: '/gateway/doctor', name: t('Check', 'Prüfung'), Part: Doctor },
];

export function GatewayPage() {
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

function Parts() {
  const { path } = place.value;
  const homes = useHomes(path);
  const shown = parts().find((part) => part.path === path);
  return (
    <>
      <nav class="gateway-tabs row" aria-label={t('Parts of this page', 'Teile dieser Seite')}>
        {parts().map((part) => (
          <a
            key={part.path}
            href={hrefTo(part.path)}
            aria-current={part.path === path ? 'page' : undefined}
          >
            {part.name}
          </a>
        ))}
      </nav>
      <FailureText failure={homes.failure} onRetry={homes.again} />
      {shown === undefined ? (
        <p>{t('There is no such part of the page.', 'Diesen Teil der Seite gibt es nicht.')}</p>
      ) : (
        <shown.Part />
      )}
    </>
  );
}
