import { t } from './language.js';

/** The eight kinds of the interface, in the order of display. */
export const KINDS = [
  'fall',
  'helpCall',
  'outOfBed',
  'outOfRoom',
  'outOfSeat',
  'wandering',
  'inactivity',
  'noise',
] as const;
export type Kind = (typeof KINDS)[number];

/** The name of a kind in the current language. */
export function kindName(kind: Kind): string {
  const names: Readonly<Record<Kind, string>> = {
    fall: t('Fall', 'Sturz'),
    helpCall: t('Help call', 'Hilferuf'),
    outOfBed: t('Out of bed', 'Bett verlassen'),
    outOfRoom: t('Out of room', 'Zimmer verlassen'),
    outOfSeat: t('Out of seat', 'Sitz verlassen'),
    wandering: t('Wandering', 'Umherirren'),
    inactivity: t('Inactivity', 'Keine Bewegung'),
    noise: t('Noise', 'Geräusch'),
  };
  return names[kind];
}

/** Lines of a 24 by 24 drawing, with round ends. */
const DRAWINGS: Readonly<Record<Kind, string>> = {
  fall: 'M3 20h18M5 6l4 3 5-1 3 4M9 9l-2 5 5 3M16.500 5.500a1.500 1.500 0 1 0 .01 0M17 12l3 2',
  helpCall: 'M12 3a6 6 0 0 0-6 6v5l-2 3h16l-2-3V9a6 6 0 0 0-6-6M10 20a2 2 0 0 0 4 0',
  outOfBed: 'M3 7v12M3 15h18v4M7 15v-4h6a4 4 0 0 1 4 4M17 8l4-4M17 4h4v4',
  outOfRoom: 'M4 21V4h9v17M4 21h11M10 12h.01M15 12h6M18 9l3 3-3 3',
  outOfSeat: 'M6 4v9h9M6 13v7M15 13v7M16 9l4-4M16 5h4v4',
  wandering: 'M4 19c5 0 1-7 6-7s1 6 5 6 2-13 5-13M18 3l2 2-2 2',
  inactivity: 'M12 3a9 9 0 1 0 .01 0M12 7v5l3 3',
  noise: 'M4 10v4h4l5 4V6L8 10zM16 9a4 4 0 0 1 0 6M18.500 6.500a8 8 0 0 1 0 11',
};

export function kindOf(value: unknown): Kind | undefined {
  return KINDS.find((kind) => kind === value);
}

/** A kind of alarm as a drawing, to go next to words. */
export function KindIcon({ kind }: { readonly kind: Kind }) {
  return (
    <svg class="kind-icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={DRAWINGS[kind]} />
    </svg>
  );
}

/** A kind of alarm in words. */
export function KindName({ kind }: { readonly kind: Kind }) {
  return <>{kindName(kind)}</>;
}
