import { useState } from 'preact/hooks';

/** What is dragged: a device to a room, or a room to a group. */
export interface Dragged {
  readonly kind: 'device' | 'room';
  readonly id: string;
}

const TYPE_PREFIX = 'application/x-care-home-';

/** Attributes that make an element draggable. */
export function dragSource({ kind, id }: Dragged, isAllowed: boolean) {
  if (!isAllowed) return {};
  return {
    draggable: true,
    onDragStart: (event: DragEvent) => {
      // A device within a room: only the innermost is dragged.
      event.stopPropagation();
      event.dataTransfer?.setData(TYPE_PREFIX + kind, id);
      if (event.dataTransfer !== null) event.dataTransfer.effectAllowed = 'move';
    },
  };
}

/**
 * Attributes that make an element accept drops.
 *
 * @param isAllowed whether the token may put something there
 */
export function useDropTarget(
  kind: Dragged['kind'],
  isAllowed: boolean,
  onDrop: (id: string) => void,
) {
  const [isOver, setOver] = useState(false);
  if (!isAllowed) return { isOver: false, target: {} };
  const type = TYPE_PREFIX + kind;
  const accepts = (event: DragEvent) => event.dataTransfer?.types.includes(type) === true;
  const target = {
    onDragOver: (event: DragEvent) => {
      if (!accepts(event)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      setOver(false);
      if (!accepts(event)) return;
      event.preventDefault();
      onDrop(event.dataTransfer?.getData(type) ?? '');
    },
  };
  return { isOver, target };
}
