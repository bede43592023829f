import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { FailureText } from '../../ui/bits.js';
import { type Home, useHome } from './home-data.js';
import type { IssuedDevice } from './issued/issue-device.js';
import { IssuedDevices } from './issued/issued-devices.js';
import { type Presence, usePresence } from './presence.js';

/** A loaded home, and what else its pages need. */
export interface HomeParts {
  readonly home: Home;
  readonly presence: Presence;
  readonly again: () => void;
  /** Shows the secret of a device instead of the page. */
  readonly onIssued: (device: IssuedDevice) => void;
}

interface HomeFrameProps {
  readonly locationId: string;
  /** The path and name of the parent page. */
  readonly above: { readonly path: string; readonly name: (home: Home | undefined) => string };
  readonly children: (parts: HomeParts) => ComponentChildren;
}

/** Loads a home for a page, and shows a device's new secret until the user has noted it. */
export function HomeFrame({ locationId, above, children }: HomeFrameProps) {
  const presence = usePresence(locationId);
  const { data, failure, isPending, again } = useHome(locationId, presence);
  const [issued, setIssued] = useState<IssuedDevice>();
  const isIssued = issued !== undefined && data !== undefined;
  return (
    <>
      {isIssued && (
        <IssuedDevices
          devices={[issued]}
          homeName={data.location.name}
          onDone={() => setIssued(undefined)}
        />
      )}
      {/* Hidden, not removed: it may have what somebody has typed. */}
      <div hidden={isIssued}>
        <p>
          <a href={hrefTo(above.path)}>{above.name(data)}</a>
        </p>
        <FailureText failure={failure} onRetry={again} />
        {data === undefined && isPending && <p role="status">{t('Loading …', 'Wird geladen …')}</p>}
        {data !== undefined && children({ home: data, presence, again, onIssued: setIssued })}
      </div>
    </>
  );
}
