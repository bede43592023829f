import { useEffect, useState } from 'preact/hooks';
import { listLocations } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { hrefTo } from '../../routing.js';
import { FailureText } from '../../ui/failure-text.js';
import { useLoaded } from '../../ui/use-request.js';
import { CreateHomeDialog } from './create-dialogs.js';
import { useOnReturn } from './home-data.js';
import { sorted } from './home-tree.js';
import { HOME_WORDS } from './home-words.js';

/** The homes that the token may see; a token that may see only one goes there immediately. */
export function HomesList() {
  const { session, routing } = useConsole();
  const words = useWords(HOME_WORDS);
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
        <h1>{words.homes}</h1>
        {session.isAdmin.value && (
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            {words.newHome}
          </button>
        )}
      </div>
      <FailureText failure={locations.failure} onRetry={locations.again} />
      {locations.data === undefined && locations.isPending && <p role="status">{words.loading}</p>}
      {locations.data?.length === 0 && <p>{words.noHomes}</p>}
      <ul class="home-homes">
        {sorted(locations.data ?? []).map(({ id, name, devices }) => (
          <li key={id}>
            <a href={hrefTo(`/home/${id}`)}>{name}</a>
            <span class="hint">{words.devices(devices.length)}</span>
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
