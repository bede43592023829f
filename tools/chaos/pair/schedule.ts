import { Random } from '../random.js';
import type { CutManner } from './network.js';

/** The target of a fault, determined when the fault begins. */
export type Role = 'serving' | 'standing by' | 'primary' | 'replica' | 'a sentinel';

/** A link between processes of a pair, from the side that connects. */
export type LinkKind =
  | 'serving gateway → primary'
  | 'serving gateway → replica'
  | 'standing gateway → primary'
  | 'gateways → a sentinel'
  | 'serving gateway → all sentinels'
  | 'replica → primary'
  | 'a sentinel → primary'
  | 'a sentinel → replica'
  | 'sentinels of the boxes → each other';

/** What a fault does to a pair. */
export type Fault =
  | { readonly kind: 'kill' | 'freeze'; readonly role: Role }
  | { readonly kind: 'stop'; readonly role: 'serving' | 'standing by' }
  | { readonly kind: 'power' | 'isolate'; readonly role: 'primary' | 'replica' }
  | { readonly kind: 'cut'; readonly link: LinkKind; readonly manner: CutManner }
  | { readonly kind: 'demote' };

/** A fault, how long it lasts, and what happens to a gateway meanwhile. */
export interface PlannedFault {
  readonly fault: Fault;
  readonly forMs: number;
  /** How long the pair is left alone before the fault. */
  readonly pauseMs: number;
  /** Which Sentinel, if the fault concerns one. */
  readonly sentinel: number;
  readonly meanwhile: { readonly fault: Fault; readonly afterMs: number } | undefined;
}

const GATEWAYS = ['serving', 'standing by'] as const;
const SERVERS = ['primary', 'replica'] as const;
const PROCESSES = [
  'serving',
  'primary',
  'replica',
  'serving',
  'standing by',
  'a sentinel',
] as const;
const LINKS = [
  'serving gateway → primary',
  'serving gateway → replica',
  'standing gateway → primary',
  'gateways → a sentinel',
  'serving gateway → all sentinels',
  'replica → primary',
  'a sentinel → primary',
  'a sentinel → replica',
  'sentinels of the boxes → each other',
] as const;
const MANNERS = ['silent', 'refused'] as const;
const SHORTEST_MS = 1_000;
const LONGEST_MS = 20_000;
const MAX_PAUSE_MS = 2_000;
const MAX_MEANWHILE_AFTER_MS = 5_000;
const CHANCE_OF_MEANWHILE = 0.3;
const SENTINELS = 3;

/** Plans endless faults: the same for the same seed. */
export function* planFaults(seed: number): Generator<PlannedFault> {
  const random = new Random(seed);
  for (;;) {
    const fault = pickFault(random);
    const meanwhile = {
      fault: random.chance(0.5)
        ? ({ kind: 'kill', role: random.pick(GATEWAYS) } as const)
        : ({ kind: 'stop', role: random.pick(GATEWAYS) } as const),
      afterMs: random.between(0, MAX_MEANWHILE_AFTER_MS),
    };
    yield {
      fault,
      forMs: random.between(SHORTEST_MS, LONGEST_MS),
      pauseMs: random.between(0, MAX_PAUSE_MS),
      sentinel: Math.floor(random.between(0, SENTINELS)),
      meanwhile: random.chance(CHANCE_OF_MEANWHILE) ? meanwhile : undefined,
    };
  }
}

function pickFault(random: Random): Fault {
  const choices: [Fault, ...Fault[]] = [
    { kind: 'kill', role: random.pick(PROCESSES) },
    { kind: 'kill', role: random.pick(PROCESSES) },
    { kind: 'freeze', role: random.pick(PROCESSES) },
    { kind: 'freeze', role: random.pick(PROCESSES) },
    { kind: 'stop', role: random.pick(GATEWAYS) },
    { kind: 'cut', link: random.pick(LINKS), manner: random.pick(MANNERS) },
    { kind: 'cut', link: random.pick(LINKS), manner: random.pick(MANNERS) },
    { kind: 'cut', link: random.pick(LINKS), manner: random.pick(MANNERS) },
    { kind: 'demote' },
    { kind: 'isolate', role: random.pick(SERVERS) },
    { kind: 'power', role: random.pick(SERVERS) },
  ];
  return random.pick(choices);
}

/** The fault in words, the same for all of a sort. */
export function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'demote':
      return 'demotion by a Sentinel';
    case 'cut':
      return `cut (${fault.manner}) ${fault.link}`;
    case 'power':
      return `power of the box of the ${fault.role}`;
    case 'isolate':
      return `box of the ${fault.role} cut off`;
    default:
      return `${fault.kind} ${fault.role}`;
  }
}
