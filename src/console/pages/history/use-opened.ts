import { useState } from 'preact/hooks';

/** The parts of an alarm that can be opened. */
export type Part = 'details' | 'video' | 'audio';

export interface Opened {
  readonly shown: Part | undefined;
  /** Shows the part, or closes it if shown. */
  readonly toggle: (part: Part) => void;
}

/** Which part of an alarm is open: one at a time, so that two recordings never play at once. */
export function useOpened(): Opened {
  const [shown, setShown] = useState<Part>();
  return { shown, toggle: (part) => setShown(shown === part ? undefined : part) };
}
