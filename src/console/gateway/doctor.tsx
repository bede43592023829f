/** The gateway looked over: each check with what it has found, and what to do about it. */

import { examineGateway, type Finding } from '../api.js';
import { language, t } from '../language.js';
import { FailureText } from '../ui/bits.js';
import { useLoaded } from '../ui/load.js';
import { WithCode } from './overview.js';

/** The names of the checks: `CHECKS` of the gateway. */
const checkNames = (): Readonly<Record<string, string>> => ({
  configuration: t('Configuration', 'Konfiguration'),
  store: t('Store', 'Speicher'),
  disk: t('Disk', 'Platte'),
  clock: t('Clock', 'Uhr'),
  certificate: t('Certificate', 'Zertifikat'),
  ports: t('Ports', 'Ports'),
  rights: t('Rights of files', 'Dateirechte'),
  limits: t('Limits', 'Grenzen'),
  runtime: t('Node.js', 'Node.js'),
});

const stateNames = (): Readonly<Record<Finding['state'], string>> => ({
  ok: t('Fine', 'In Ordnung'),
  warn: t('Look at it', 'Ansehen'),
  fail: t('Wrong', 'Falsch'),
});

export function Doctor() {
  // The gateway writes the words.
  const { data, failure, again } = useLoaded(examineGateway, [language.value]);
  return (
    <>
      <h2>{t('Check', 'Prüfung')}</h2>
      <FailureText failure={failure} onRetry={again} />
      {data === undefined && failure === undefined && (
        <p role="status">{t('Checking …', 'Wird geprüft …')}</p>
      )}
      <ul class="gateway-findings plain">
        {data?.findings.map((finding) => (
          <Row key={`${finding.check} ${finding.finding}`} {...finding} />
        ))}
      </ul>
      <p>
        <button type="button" onClick={again}>
          {t('Check again', 'Erneut prüfen')}
        </button>
      </p>
    </>
  );
}

function Row({ check, state, finding, advice }: Finding) {
  return (
    <li class={`card ${state}`}>
      <strong>{checkNames()[check] ?? check}</strong> · {stateNames()[state]}
      <p>
        <WithCode text={finding} />
      </p>
      {advice !== undefined && (
        <p>
          <span class="hint">{t('What to do:', 'Was zu tun ist:')}</span> <WithCode text={advice} />
        </p>
      )}
    </li>
  );
}
