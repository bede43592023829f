/** What can be wrong with the gateway, as `/readyz`, `gateway/status` and `gateway_fault` name it. */
export const FAULT_CODES = [
  'account-broken',
  'audit-export-failing',
  'bridge-commands-denied',
  'bridge-down',
  'bridge-missing',
  'bridge-stuck',
  'certificate-expiring',
  'certificate-unusable',
  'clock-doubtful',
  'clock-jumped',
  'consumer-lagging',
  'data-directory-unusable',
  'device-silent',
  'device-unreadable',
  'disk-full',
  'disk-nearly-full',
  'disk-read-only',
  'drill-failed',
  'limit-exceeded',
  'output-failing',
  'processor-busy',
  'record-damaged',
  'replica-missing',
  'retained-full',
  'standing-by',
  'store-full',
  'store-lost-data',
  'store-nearly-full',
  'store-refusing',
  'store-slow',
  'store-unreachable',
  'store-unsafe',
] as const;
export type FaultCode = (typeof FAULT_CODES)[number];

export const FAULT_SUBJECTS = [
  'location',
  'room',
  'group',
  'device',
  'access-token',
  'bridge',
  'session',
  'webhook',
  'address',
] as const;

/** What a fault is about. Only those who may see it are shown it. */
export interface FaultSubject {
  readonly type: (typeof FAULT_SUBJECTS)[number];
  readonly id: string;
  /** The id again where there is no name. */
  readonly name: string;
}

/** A fault as the part of the gateway that finds it reports it. */
export interface FaultReport {
  readonly code: FaultCode;
  /** Whether the gateway is not ready meanwhile. */
  readonly stops: boolean;
  /** A sentence for everybody: it never has the name or id of a device, location, token or client. */
  readonly message: string;
  readonly subject?: FaultSubject | undefined;
  /** Ends a fault that stays until an administrator has seen it. */
  readonly acknowledge?: (() => void) | undefined;
}

/** A fault that makes the gateway unready. */
export function stopping(code: FaultCode, message: string): FaultReport {
  return { code, stops: true, message };
}

/** A fault with which the gateway does its work. */
export function warning(code: FaultCode, message: string, subject?: FaultSubject): FaultReport {
  return { code, stops: false, message, subject };
}

/** Faults of one kind about different subjects: the first ones, and one that says how many more there are. */
export interface FaultGroup {
  readonly faults: readonly FaultReport[];
  readonly others: FaultReport | undefined;
}

/** @param more the fault that stands for so many more */
export function firstOf<About>(
  all: readonly About[],
  max: number,
  faultOf: (about: About) => FaultReport,
  more: (count: number) => FaultReport,
): FaultGroup {
  const count = all.length - max;
  return { faults: all.slice(0, max).map(faultOf), others: count > 0 ? more(count) : undefined };
}

/** A present fault. */
export interface Fault extends FaultReport {
  /** RFC 3339 */
  readonly since: string;
}

/** Leaves of faults that look the same the one that began first. */
export function withoutRepeats<Shown extends Pick<Fault, 'since'>>(
  faults: readonly Shown[],
): Shown[] {
  const shown = new Map<string, Shown>();
  for (const fault of faults) {
    const look = JSON.stringify({ ...fault, since: undefined });
    const same = shown.get(look);
    if (same === undefined || fault.since < same.since) shown.set(look, fault);
  }
  return [...shown.values()];
}
