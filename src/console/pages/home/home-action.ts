import type { Device, Room } from '../../api.js';
import type { Named } from './home-changes.js';

/** The action of a button of a home; it opens a dialog. */
export type HomeAction =
  | { readonly type: 'create-group' }
  | { readonly type: 'create-room'; readonly groupId: string | null }
  | { readonly type: 'create-device'; readonly roomId: string | null }
  | { readonly type: 'rename'; readonly named: Named }
  | { readonly type: 'remove'; readonly named: Named }
  | { readonly type: 'move-room'; readonly room: Room }
  | { readonly type: 'move-device'; readonly device: Device };
