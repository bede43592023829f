import { MoveDeviceDialog, MoveRoomDialog, RemoveDialog, RenameDialog } from './change-dialogs.js';
import { CreateDeviceDialog, CreateGroupDialog, CreateRoomDialog } from './create-dialogs.js';
import type { HomeAction } from './home-action.js';
import type { Home } from './home-data.js';
import type { HomeRights } from './home-rights.js';
import type { IssuedDevice } from './issued/issue-device.js';

interface HomeDialogProps {
  readonly action: HomeAction;
  readonly home: Home;
  readonly rights: HomeRights;
  /** Called when the change is made, with what to say about it. */
  readonly onDone: (said: string) => void;
  readonly onIssued: (device: IssuedDevice) => void;
  readonly onClose: () => void;
}

/** The dialog of an action. */
export function HomeDialog({ action, onIssued, ...props }: HomeDialogProps) {
  switch (action.type) {
    case 'create-group':
      return <CreateGroupDialog {...props} />;
    case 'create-room':
      return <CreateRoomDialog {...props} groupId={action.groupId} />;
    case 'create-device':
      return <CreateDeviceDialog {...props} roomId={action.roomId} onDone={onIssued} />;
    case 'rename':
      return <RenameDialog {...props} named={action.named} />;
    case 'remove':
      return <RemoveDialog {...props} named={action.named} />;
    case 'move-room':
      return <MoveRoomDialog {...props} room={action.room} />;
    case 'move-device':
      return <MoveDeviceDialog {...props} device={action.device} />;
  }
}
