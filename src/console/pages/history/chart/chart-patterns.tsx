import { KINDS, type Kind } from '../../../kinds.js';

/** Lines in an 8 by 8 square, distinguishable without colours; none for the plain pattern. */
const LINES: Readonly<Record<Kind, string>> = {
  fall: '',
  helpCall: 'M-2 2l4-4M0 8l8-8M6 10l4-4',
  outOfBed: 'M0 2h8M0 6h8',
  outOfRoom: 'M2 0v8M6 0v8',
  outOfSeat: 'M-2 6l4 4M0 0l8 8M6-2l4 4',
  wandering: 'M0 4h8M4 0v8',
  inactivity: 'M2 2h.01M6 6h.01',
  noise: 'M0 8l8-8M0 0l8 8',
};

/** The fills of the kinds. */
export function KindPatterns({
  prefix,
  kinds = KINDS,
}: {
  /** Distinguishes the patterns of one drawing from those of others on the page. */
  readonly prefix: string;
  readonly kinds?: readonly Kind[];
}) {
  return (
    <defs>
      {kinds.map((kind) => (
        <pattern
          key={kind}
          id={`history-${prefix}-${kind}`}
          class={`history-pattern ${kind}`}
          width="8"
          height="8"
          patternUnits="userSpaceOnUse"
        >
          <rect width="8" height="8" />
          <path d={LINES[kind]} />
        </pattern>
      ))}
    </defs>
  );
}

/** The value of `fill` that paints a kind. */
export function patternOf(prefix: string, kind: Kind): string {
  return `url(#history-${prefix}-${kind})`;
}
