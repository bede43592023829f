import { BRIDGE_FAULTS } from './bridge-faults.js';
import { CLIENT_FAULTS } from './client-faults.js';
import { MACHINE_FAULTS } from './machine-faults.js';
import { SITE_FAULTS } from './site-faults.js';
import { STORE_FAULTS } from './store-faults.js';

/** Everything that can be wrong with the gateway. */
export const FAULTS = {
  ...STORE_FAULTS,
  ...MACHINE_FAULTS,
  ...CLIENT_FAULTS,
  ...SITE_FAULTS,
  ...BRIDGE_FAULTS,
} as const;

export type FaultName = keyof typeof FAULTS;
export type FaultCode = (typeof FAULTS)[FaultName]['code'];

export const FAULT_CODES: readonly FaultCode[] = [
  ...new Set(Object.values(FAULTS).map(({ code }) => code)),
].sort();
