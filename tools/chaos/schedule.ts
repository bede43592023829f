/** What happens when: the same for the same seed and options. */
import { Random } from './random.js';

/** Processes killed by SIGKILL. */
export type KillTarget = 'gateway' | 'store' | 'both';
const KILL_TARGETS = ['gateway', 'store', 'both'] as const;

export interface PlannedKill {
  /** Since the start of the run. */
  readonly atMs: number;
  readonly target: KillTarget;
  /** A second kill during the recovery from the first. */
  readonly again: { readonly afterMs: number; readonly target: KillTarget } | undefined;
}

/** A kill of a bridge's upstream. */
export interface PlannedOutage {
  readonly atMs: number;
  /** How long the upstream hangs before it is killed. */
  readonly hangMs: number;
  readonly downMs: number;
}

interface Times {
  readonly seed: number;
  readonly durationMs: number;
}

const FIRST_AFTER_MS = 500;
const CHANCE_OF_SECOND = 0.3;
const [MAX_SECOND_AFTER_MS, MAX_HANG_MS, MAX_DOWN_MS] = [300, 500, 2_000];

export function planKills({
  seed,
  durationMs,
  kills,
}: Times & { readonly kills: number }): PlannedKill[] {
  const random = new Random(seed);
  const plan: PlannedKill[] = [];
  for (let left = kills; left >= 1; ) {
    const atMs = random.between(FIRST_AFTER_MS, durationMs);
    const target = random.pick(KILL_TARGETS);
    const afterMs = random.between(0, MAX_SECOND_AFTER_MS);
    const second = { afterMs, target: random.pick(KILL_TARGETS) };
    const hasSecond = random.chance(CHANCE_OF_SECOND) && left >= 2;
    plan.push({ atMs, target, again: hasSecond ? second : undefined });
    left -= hasSecond ? 2 : 1;
  }
  return plan.sort((one, other) => one.atMs - other.atMs);
}

/** With a generator of its own, so that the kills stay the same. */
export function planOutages({
  seed,
  durationMs,
  upstreamKills,
}: Times & { readonly upstreamKills: number }): PlannedOutage[] {
  const random = new Random(seed + 2);
  const plan = Array.from({ length: upstreamKills }, () => ({
    atMs: random.between(FIRST_AFTER_MS, durationMs),
    hangMs: random.between(0, MAX_HANG_MS),
    downMs: random.between(0, MAX_DOWN_MS),
  }));
  return plan.sort((one, other) => one.atMs - other.atMs);
}

/**
 * How a link is cut.
 *
 * Silent: bytes wait, as TCP keeps resending them, and arrive once the link is mended. Refused: connections break,
 * and new ones break immediately.
 */
export type CutManner = 'silent' | 'refused';

const GATEWAYS = ['serving', 'standing by'] as const;
const SERVERS = ['primary', 'replica'] as const;
/** The serving gateway twice: most depends on it. */
const PROCESSES = [...GATEWAYS, ...SERVERS, 'serving', 'a sentinel'] as const;
/** Links between processes of a pair, from the side that connects. */
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
const SENTINELS = 3;

/** The target of a fault, determined when the fault begins. */
export type Role = (typeof PROCESSES)[number];
export type LinkKind = (typeof LINKS)[number];

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

/** Plans endless faults. */
export function* planFaults(seed: number): Generator<PlannedFault> {
  const random = new Random(seed);
  for (;;) {
    const fault = pickFault(random);
    const kind = random.pick(['kill', 'stop'] as const);
    const afterMs = random.between(0, 5_000);
    const meanwhile = { fault: { kind, role: random.pick(GATEWAYS) }, afterMs };
    yield {
      fault,
      forMs: random.between(1_000, 20_000),
      pauseMs: random.between(0, 2_000),
      sentinel: Math.floor(random.between(0, SENTINELS)),
      meanwhile: random.chance(CHANCE_OF_SECOND) ? meanwhile : undefined,
    };
  }
}

function pickFault(random: Random): Fault {
  const kill = { kind: random.pick(['kill', 'freeze'] as const), role: random.pick(PROCESSES) };
  const manner = random.pick(['silent', 'refused'] as const);
  const cut = { kind: 'cut', link: random.pick(LINKS), manner } as const;
  const server = random.pick(SERVERS);
  // By weight: processes fail most, then links.
  return random.pick<Fault>([
    kill,
    kill,
    kill,
    kill,
    cut,
    cut,
    cut,
    { kind: 'stop', role: random.pick(GATEWAYS) },
    { kind: 'demote' },
    { kind: 'isolate', role: server },
    { kind: 'power', role: server },
  ]);
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
