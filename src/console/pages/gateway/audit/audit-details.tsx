import type { AuditEvent } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { GrantsText } from '../tokens/token-grants.js';
import { AUDIT_WORDS } from './audit-words.js';

type Detail = AuditEvent['details'][string];

/** The collapsed details of a record. */
export function AuditDetails({ event }: { readonly event: AuditEvent }) {
  const words = useWords(AUDIT_WORDS);
  const { id, actor, resourceId, details } = event;
  return (
    <details>
      <summary aria-label={words.detailsOf(id)}>{words.details}</summary>
      <dl class="gateway-details">
        {Object.entries(details).map(([name, detail]) => (
          <Fact key={name} name={words.names[name] ?? name} detail={detail} />
        ))}
        {resourceId !== null && <Fact name="id" detail={resourceId} />}
        {actor.requestId !== null && <Fact name={words.request} detail={actor.requestId} />}
        <Fact name={words.record} detail={id} />
      </dl>
    </details>
  );
}

function Fact({ name, detail }: { readonly name: string; readonly detail: Detail }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <DetailText detail={detail} />
      </dd>
    </>
  );
}

function DetailText({ detail }: { readonly detail: Detail }) {
  if (detail === null) return <>–</>;
  if (typeof detail === 'string') return <>{detail}</>;
  const grants = detail.filter((one) => typeof one !== 'string');
  if (grants.length > 0) return <GrantsText grants={grants} />;
  return <>{detail.join(', ')}</>;
}
