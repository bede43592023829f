import type { AlarmKind } from '../domain/alarms.js';

/** A reading that a sensor sends beside its alarms. */
export interface Telemetry {
  readonly topic: string;
  readonly field: string;
  readonly low: number;
  readonly high: number;
}

/** A sensor of the made-up home. */
export interface HomeDevice {
  readonly name: string;
  /** Data for the nurse-call system, sent with every message of the device. */
  readonly customData: Readonly<Record<string, string>>;
  readonly kinds: readonly AlarmKind[];
  readonly telemetry?: Telemetry;
}

/** A made-up location with its sensors. */
export interface CareHome {
  readonly name: string;
  readonly devices: readonly HomeDevice[];
}

const BREATHING: Telemetry = { topic: 'vitals', field: 'breathsPerMinute', low: 12, high: 18 };
const CLIMATE: Telemetry = { topic: 'climate', field: 'celsius', low: 20, high: 24 };

/** The home of the demo. Every alarm kind has a device that detects it. */
export const CARE_HOME: CareHome = {
  name: 'Haus am See',
  devices: [
    {
      name: 'Bed mat 101 A',
      customData: { room: '101', bed: 'A', resident: 'NC-2041' },
      kinds: ['outOfBed', 'inactivity'],
      telemetry: BREATHING,
    },
    {
      name: 'Bed mat 101 B',
      customData: { room: '101', bed: 'B', resident: 'NC-2058' },
      kinds: ['outOfBed', 'inactivity'],
      telemetry: BREATHING,
    },
    {
      name: 'Call cord 102',
      customData: { room: '102', resident: 'NC-1987' },
      kinds: ['helpCall'],
    },
    {
      name: 'Fall sensor 102',
      customData: { room: '102', resident: 'NC-1987' },
      kinds: ['fall', 'noise'],
      telemetry: CLIMATE,
    },
    {
      name: 'Door sensor 103',
      customData: { room: '103', resident: 'NC-2110' },
      kinds: ['outOfRoom', 'wandering'],
    },
    {
      name: 'Seat pad 104',
      customData: { room: '104', resident: 'NC-2003' },
      kinds: ['outOfSeat', 'inactivity'],
    },
    {
      name: 'Room sensor 105',
      customData: { room: '105', resident: 'NC-2076' },
      kinds: ['fall', 'noise', 'helpCall'],
      telemetry: CLIMATE,
    },
    {
      name: 'Corridor 1F',
      customData: { area: '1st floor', phone: 'DECT 17' },
      kinds: ['wandering', 'fall'],
    },
  ],
};
