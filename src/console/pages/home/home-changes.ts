import { type Device, getPart, moveDevice, type Part, type Room, updateRoom } from '../../api.js';
import { t } from '../../language.js';
import { parseExactJson, Refusal, recordOf } from '../../request.js';

export const movedText = (name: string) => t(`${name} was moved.`, `${name} wurde verschoben.`);

export const createdText = (name: string) => t(`${name} was created.`, `${name} wurde angelegt.`);

/** Something in a home that has a name. */
export interface Named {
  readonly kind: Part['kind'];
  readonly id: string;
  readonly name: string;
}

/**
 * Reads the entity tag of something, for a change that is refused if someone else makes one first.
 *
 * @throws Refusal if someone else has already renamed it
 */
export async function readTagOf(locationId: string, { kind, id, name }: Named): Promise<string> {
  const { text, tag } = await getPart({ locationId, kind, id });
  const isSame = recordOf(parseExactJson(text))['name'] === name;
  if (!isSame) throw new Refusal({ code: 'precondition-failed' });
  return tag;
}

/** Moves a device into a room of its home or, with null, out of its room. */
export async function putDevice(
  { id, locationId }: Device,
  targetRoomId: string | null,
): Promise<void> {
  await moveDevice({ locationId, deviceId: id }, { targetRoomId });
}

/** Moves a room into a group of its home or, with null, out of its group. */
export async function putRoom(
  locationId: string,
  { id }: Room,
  groupId: string | null,
): Promise<void> {
  await updateRoom({ locationId, roomId: id }, { groupId });
}
