/** The languages in which the gateway says what is wrong. */
export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** What is wrong, and what to do about it. `{name}` in the message stands for a value. Text in backquotes is code. */
interface FaultWords {
  readonly message: string;
  readonly advice: string;
}

/** One thing that can be wrong. Everything that shows faults takes their words from here. */
export interface FaultKind extends Readonly<Record<Language, FaultWords>> {
  /** Stable, for programs. Kinds that a program need not tell apart share one. */
  readonly code: string;
  /** Whether the gateway is not ready while it lasts. */
  readonly stops: boolean;
}
