import type { Device, Part, Room } from '../../api.js';
import { t } from '../../language.js';

/** Something in a home that has a name. */
export interface Named {
  readonly kind: Part['kind'];
  readonly id: string;
  readonly name: string;
}

/** The action of a button of a home; it opens a dialog. */
export type HomeAction =
  | { readonly type: 'create-group' }
  | { readonly type: 'create-room'; readonly groupId: string | null }
  | { readonly type: 'create-device'; readonly roomId: string | null }
  | { readonly type: 'rename'; readonly named: Named }
  | { readonly type: 'remove'; readonly named: Named }
  | { readonly type: 'move-room'; readonly room: Room }
  | { readonly type: 'move-device'; readonly device: Device };

export const movedText = (name: string) => t(`${name} was moved.`, `${name} wurde verschoben.`);

export const createdText = (name: string) => t(`${name} was created.`, `${name} wurde angelegt.`);
