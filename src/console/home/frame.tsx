/**
 * The frame around the pages of one home: it loads the home, keeps it up to date, and shows a device's new secret until
 * the user has noted it. A page reads what it needs with `useThisHome`.
 */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { t } from '../language.js';
import { goTo, hrefTo, place } from '../place.js';
import { focusHeading } from '../shell.js';
import { FailureText } from '../ui/bits.js';
import { openDialog } from '../ui/dialog.js';
import { EditDialog, type Edited } from './edit.js';
import { type Home, HomeRights, useHome, useSilent } from './home.js';
import type { IssuedDevice } from './issue.js';
import { IssuedDevices } from './issued.js';

interface ThisHome {
  readonly home: Home;
  readonly rights: HomeRights;
  /** The ids of devices from which nothing comes any more. */
  readonly silent: ReadonlySet<string>;
  /** Reads it again. */
  readonly again: () => void;
  /** Tells what was done, and reads the home again. */
  readonly done: (said: string) => void;
  /** Opens the dialog that creates, changes or deletes something. */
  readonly edit: (edited: Edited) => void;
  /** Shows the secret of a device instead of the page. */
  readonly showSecret: (device: IssuedDevice) => void;
}

const HomeContext = createContext<ThisHome | undefined>(undefined);

/** The home of the page. */
export function useThisHome(): ThisHome {
  const home = useContext(HomeContext);
  if (home === undefined) throw new Error('There is no home around this.');
  return home;
}

interface HomeFrameProps {
  readonly locationId: string;
  /** Whether the page is one below that of the home. */
  readonly isBelow?: boolean;
  readonly children: ComponentChildren;
}

export function HomeFrame({ locationId, isBelow = false, children }: HomeFrameProps) {
  const { data: home, failure, isPending, again } = useHome(locationId);
  const silent = useSilent(locationId);
  const [issued, setIssued] = useState<IssuedDevice>();
  const [said, setSaid] = useState('');
  const homePath = `/home/${locationId}`;
  const done = (text: string) => {
    setSaid(text);
    again();
  };
  const changed = ({ what }: Edited, text: string, isDeleted: boolean) => {
    done(text);
    if (!isDeleted) return;
    if (what === 'location') goTo('/home');
    else if (place.peek().path !== homePath) goTo(homePath);
    // The button to which the dialog returns the focus disappears with what was deleted.
    else setTimeout(focusHeading);
  };
  const isIssued = issued !== undefined && home !== undefined;
  const parts = home && {
    home,
    rights: new HomeRights(home),
    silent: silent.data ?? new Set<string>(),
    again,
    done,
    edit: (edited: Edited) =>
      openDialog(
        <EditDialog
          home={home}
          edited={edited}
          onChanged={(text, isDeleted) => changed(edited, text, isDeleted)}
          onIssued={(device) => {
            done(t(`${device.name} was created.`, `${device.name} wurde angelegt.`));
            setIssued(device);
          }}
          onRefused={again}
        />,
      ),
    showSecret: setIssued,
  };
  return (
    <>
      {isIssued && (
        <IssuedDevices
          devices={[issued]}
          homeName={home.location.name}
          onDone={() => setIssued(undefined)}
        />
      )}
      {/* Hidden, not removed: it may have what somebody has typed. */}
      <div hidden={isIssued}>
        <p class="home-noprint">
          {isBelow ? (
            <a href={hrefTo(homePath)}>{home?.location.name ?? t('Home', 'Heim')}</a>
          ) : (
            <a href={hrefTo('/home')}>{t('All homes', 'Alle Heime')}</a>
          )}
        </p>
        <p role="status" class="home-said home-noprint">
          {said}
        </p>
        <FailureText failure={failure} onRetry={again} />
        {home === undefined && isPending && <p role="status">{t('Loading …', 'Wird geladen …')}</p>}
        {silent.failure !== undefined && (
          <p class="bad" role="alert">
            {t(
              'Which sensors are silent is not known at the moment.',
              'Welche Sensoren verstummt sind, ist zurzeit nicht bekannt.',
            )}
          </p>
        )}
        <HomeContext.Provider value={parts}>{home !== undefined && children}</HomeContext.Provider>
      </div>
    </>
  );
}
