import { DeniedList } from './denied-list.js';
import { OpenConnectionList } from './open-connection-list.js';
import { SessionList } from './session-list.js';

/** For whom something waits, who is connected, and who was denied something. */
export function ConnectionsPart() {
  return (
    <>
      <SessionList />
      <OpenConnectionList />
      <DeniedList />
    </>
  );
}
