import './home.css';
import './issued/labels.css';
import { useConsole } from '../../console-parts.js';
import { NoPage } from '../../shell.js';
import { DevicePage } from './device/device-page.js';
import { DrillsPage } from './drills/drills-page.js';
import { HomesList } from './homes-list.js';
import { ImportPage } from './import/import-page.js';
import { OneHome } from './one-home.js';

/** The homes, one home, its drills, one of its devices, or the import of many devices. */
export function HomePage() {
  const { routing } = useConsole();
  const [, , locationId = '', part, deviceId = ''] = routing.place.value.path.split('/');
  if (locationId === '') return <HomesList />;
  if (part === undefined || part === '')
    return <OneHome key={locationId} locationId={locationId} />;
  if (part === 'import') return <ImportPage key={locationId} locationId={locationId} />;
  if (part === 'drills') return <DrillsPage key={locationId} locationId={locationId} />;
  if (part === 'devices' && deviceId !== '') {
    return <DevicePage key={deviceId} locationId={locationId} deviceId={deviceId} />;
  }
  return <NoPage />;
}
