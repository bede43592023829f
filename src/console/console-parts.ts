import type { Signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Language } from './language.js';
import type { LiveFeed } from './live/live-feed.js';
import type { Routing } from './routing.js';
import type { Session } from './session/session.js';
import type { StoredChoice } from './ui/stored-choice.js';
import type { ThemeName } from './ui/theme.js';

/** The parts that every page needs, created once in main.tsx. */
export interface ConsoleParts {
  readonly language: StoredChoice<Language>;
  readonly theme: StoredChoice<ThemeName>;
  readonly routing: Routing;
  readonly session: Session;
  /** Alarms, their states, devices online, and the gateway's faults. */
  readonly live: LiveFeed;
  /** The page's note in the tab title, such as `(3)`, for when another tab is in front. */
  readonly tabNote: Signal<string | undefined>;
}

export const ConsoleContext = createContext<ConsoleParts | undefined>(undefined);

export function useConsole(): ConsoleParts {
  const parts = useContext(ConsoleContext);
  if (parts === undefined) throw new Error('A component is outside of ConsoleContext.');
  return parts;
}
