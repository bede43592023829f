/** The page Home: the homes, one home, one of its devices, its hubs, its drills, or the import of many devices. */

import './home.css';
import { useEffect, useState } from 'preact/hooks';
import { type Location, listLocations } from '../api.js';
import { t } from '../language.js';
import { goTo, hrefTo, place, replacePlace } from '../place.js';
import { session } from '../session.js';
import { NoPage } from '../shell.js';
import { FailureText } from '../ui/bits.js';
import { openDialog } from '../ui/dialog.js';
import { loadedLater, useLoaded } from '../ui/load.js';
import { DevicePage } from './device.js';
import { DrillsPage } from './drills.js';
import { NewHomeDialog } from './edit.js';
import { sorted } from './home.js';
import { HubsPage } from './hubs.js';
import { ImportPage } from './import-page.js';
import { OneHome } from './tree.js';

const FirstSteps = loadedLater(async () => (await import('./first-steps.js')).FirstSteps);

export function HomePage() {
  const [, , locationId = '', part = '', deviceId = ''] = place.value.path.split('/');
  const at = { key: locationId, locationId };
  if (locationId === '') return <HomesList />;
  if (part === '') return <OneHome {...at} />;
  if (part === 'import') return <ImportPage {...at} />;
  if (part === 'hubs') return <HubsPage {...at} />;
  if (part === 'drills') return <DrillsPage {...at} />;
  if (part === 'devices' && deviceId !== '') {
    return <DevicePage key={deviceId} locationId={locationId} deviceId={deviceId} />;
  }
  return <NoPage />;
}

/** The homes that the token may see; a token that may see only one goes there immediately. */
function HomesList() {
  const locations = useLoaded(() => listLocations(), [], { onReturn: true });
  const [isSettingUp, setSettingUp] = useState(false);
  const isAdmin = session.isAdmin.value;
  const only = locations.data?.length === 1 && !isAdmin ? locations.data[0] : undefined;
  useEffect(() => {
    if (only !== undefined) replacePlace(`/home/${only.id}`);
  }, [only]);
  const isBegun = locations.data?.some(({ devices }) => devices.length > 0) ?? true;
  const hasNone = locations.data && locations.data.length === 0;
  useEffect(() => {
    // From then on until the page is left: the steps go on when there is a device.
    if (isAdmin ? !isBegun : hasNone) setSettingUp(true);
  }, [isAdmin, isBegun, hasNone]);
  const create = () =>
    openDialog(<NewHomeDialog onDone={({ id }: Location) => goTo(`/home/${id}`)} />);
  return (
    <>
      <div class="row home-title">
        <h1>{t('Homes', 'Heime')}</h1>
        {isAdmin && (!isSettingUp || hasNone === false) && (
          <button type="button" class={isSettingUp ? '' : 'primary'} onClick={create}>
            {t('New home', 'Neues Heim')}
          </button>
        )}
      </div>
      <FailureText failure={locations.failure} onRetry={locations.again} />
      {locations.data === undefined && locations.isPending && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {isSettingUp && <FirstSteps />}
      <ul class="plain home-homes">
        {sorted(locations.data ?? []).map(({ id, name, devices }) => (
          <li key={id} class="row">
            <a href={hrefTo(`/home/${id}`)}>{name}</a>
            <span class="hint">
              {devices.length === 1
                ? t('1 device', '1 Gerät')
                : t(`${devices.length} devices`, `${devices.length} Geräte`)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
