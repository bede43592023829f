import { useEffect, useState } from 'preact/hooks';
import { listLocations } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { FailureText } from '../../ui/bits.js';
import { useLoaded } from '../../ui/load.js';
import { CreateHomeDialog } from './create-dialogs.js';
import { useOnReturn } from './home-data.js';
import { sorted } from './home-tree.js';

/** The homes that the token may see; a token that may see only one goes there immediately. */
export function HomesList() {
  const { session, routing } = useConsole();
  const locations = useLoaded(() => listLocations(), []);
  const [isCreating, setCreating] = useState(false);
  useOnReturn(locations.again);
  const only =
    locations.data?.length === 1 && !session.isAdmin.value ? locations.data[0] : undefined;
  useEffect(() => {
    if (only !== undefined) routing.replace(`/home/${only.id}`);
  }, [only, routing]);
  return (
    <>
      <div class="home-head">
        <h1>{t('Homes', 'Heime')}</h1>
        {session.isAdmin.value && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            {t('New home', 'Neues Heim')}
          </button>
        )}
      </div>
      <FailureText failure={locations.failure} onRetry={locations.again} />
      {locations.data === undefined && locations.isPending && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {locations.data?.length === 0 && (
        <p>{t('There is no home yet.', 'Es gibt noch kein Heim.')}</p>
      )}
      <ul class="home-homes">
        {sorted(locations.data ?? []).map(({ id, name, devices }) => (
          <li key={id}>
            <a href={hrefTo(`/home/${id}`)}>{name}</a>
            <span class="hint">
              {devices.length === 1
                ? t('1 device', '1 Gerät')
                : t(`${devices.length} devices`, `${devices.length} Geräte`)}
            </span>
          </li>
        ))}
      </ul>
      {isCreating && (
        <CreateHomeDialog
          onDone={({ id }) => routing.go(`/home/${id}`)}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}
