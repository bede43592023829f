import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../language.js';

export const actionsFor = (name: string) => t(`Actions for ${name}`, `Aktionen für ${name}`);

interface MenuItem {
  readonly text: string;
  readonly isDangerous?: boolean;
  readonly choose: () => void;
}

interface ActionMenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** A button that shows the actions for the thing next to it; nothing if there are none. */
export function ActionMenu({ label, items }: ActionMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // The focus returns to the button before a dialog opens, and so comes back to it afterwards.
  const close = () => {
    button.current?.focus();
    setOpen(false);
  };
  useEffect(() => {
    if (!isOpen) return;
    const closeOutside = ({ target }: Event) => {
      if (!(target instanceof Node) || !root.current?.contains(target)) setOpen(false);
    };
    const closeByKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') close();
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    document.addEventListener('keydown', closeByKey);
    return () => {
      document.removeEventListener('keydown', closeByKey);
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
    };
  }, [isOpen]);
  if (items.length === 0) return null;
  return (
    <span class="home-menu" ref={root}>
      <button
        type="button"
        class="home-menu-button"
        ref={button}
        aria-label={label}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        ⋯
      </button>
      {isOpen && (
        <span class="home-menu-items">
          {items.map(({ text, isDangerous, choose }) => (
            <button
              key={text}
              type="button"
              class={isDangerous ? 'danger' : undefined}
              onClick={() => {
                close();
                choose();
              }}
            >
              {text}
            </button>
          ))}
        </span>
      )}
    </span>
  );
}
