/**
 * Who may do what (contract 2 and 3), as data. A need names a role and a part of the site, a grant a role and a place;
 * `fulfils` compares them, whatever the door: a route, a filter, a topic, a list, a recording.
 */

/** Each may do everything that those before it may do. A publisher publishes, and may do nothing else. */
const RANKS: readonly string[] = ['viewer', 'responder', 'manager', 'admin'];
type Role = 'viewer' | 'responder' | 'manager' | 'admin' | 'publisher';
/** The parts of the site that a grant covers, by its place. The device is in a room of the group. */
const COVERED = {
  everywhere: ['the gateway', 'a place', 'part of the home', 'the home', 'the group', 'elsewhere'],
  'the home': ['a place', 'part of the home', 'the home', 'the group'],
  'the group': ['a place', 'part of the home', 'the group'],
  'another group': ['a place', 'part of the home'],
  elsewhere: ['a place', 'elsewhere'],
} as const;
export type Held = readonly (readonly [Role, keyof typeof COVERED])[];
export type Part = (typeof COVERED)[keyof typeof COVERED][number];
type Need = readonly [Role, Part] | 'a token' | 'nobody';

const GRANTS: readonly Held[] = [
  [['viewer', 'the home']],
  [['viewer', 'the group']],
  [['viewer', 'elsewhere']],
  [['viewer', 'everywhere']],
  [['responder', 'the home']],
  [['responder', 'the group']],
  [['manager', 'the home']],
  [['manager', 'the group']],
  [['manager', 'another group']],
  [['manager', 'elsewhere']],
  [['manager', 'everywhere']],
  [['admin', 'everywhere']],
  [['publisher', 'the home']],
  [['publisher', 'the group']],
  [['publisher', 'everywhere']],
  [
    ['viewer', 'the home'],
    ['manager', 'elsewhere'],
  ],
  [
    ['viewer', 'the group'],
    ['publisher', 'the home'],
  ],
];
export const HOLDERS = GRANTS.map((held) => {
  const names = held.map(([role, place]) => `${role} of ${place}`);
  return { name: names.join(' and '), held };
});

export function fulfils(held: Held, need: Need): boolean {
  if (need === 'nobody') return false;
  if (need === 'a token') return true;
  const [wanted, part] = need;
  return held.some(([role, place]) => {
    const covered: readonly string[] = COVERED[place];
    const isEnough =
      wanted === 'publisher' ? role === wanted : RANKS.indexOf(role) >= RANKS.indexOf(wanted);
    return isEnough && covered.includes(part);
  });
}

const HOME = '/care-homes/:locationId';
/** Contract 2, route by route. */
export const NEEDS: readonly (readonly [Need, readonly string[]])[] = [
  [
    'a token',
    ['GET /care-homes', 'GET /alarms', 'GET /access-tokens/current', 'GET /events', 'GET /faults'],
  ],
  [
    ['viewer', 'part of the home'],
    [
      `GET ${HOME}`,
      `GET ${HOME}/groups`,
      `GET ${HOME}/rooms`,
      `GET ${HOME}/devices`,
      `GET ${HOME}/supervision`,
      `GET ${HOME}/alarms`,
      `GET ${HOME}/alarm-counts`,
      `GET ${HOME}/rejected`,
    ],
  ],
  [
    ['viewer', 'the group'],
    [
      `GET ${HOME}/groups/:groupId`,
      `GET ${HOME}/rooms/:roomId`,
      `GET ${HOME}/devices/:deviceId`,
      `GET ${HOME}/devices/:deviceId/custom-data`,
      `GET ${HOME}/devices/:deviceId/alarms`,
      `GET ${HOME}/alarms/:alarmId`,
      `GET ${HOME}/alarms/:alarmId/deliveries`,
    ],
  ],
  [['viewer', 'the home'], [`GET ${HOME}/drills`]],
  [
    ['responder', 'part of the home'],
    [`POST ${HOME}/alarms/:alarmId/acknowledge`, `POST ${HOME}/alarms/:alarmId/resolve`],
  ],
  [['manager', 'part of the home'], [`POST ${HOME}/rooms`]],
  [
    ['manager', 'the group'],
    [
      `PATCH ${HOME}/groups/:groupId`,
      `DELETE ${HOME}/groups/:groupId`,
      `POST ${HOME}/groups/:groupId/rooms/:roomId/move`,
      `PATCH ${HOME}/rooms/:roomId`,
      `DELETE ${HOME}/rooms/:roomId`,
      `PATCH ${HOME}/devices/:deviceId`,
      `DELETE ${HOME}/devices/:deviceId`,
      `POST ${HOME}/devices/:deviceId/test-alarm`,
      `POST ${HOME}/devices/:deviceId/secret`,
      `POST ${HOME}/devices/:deviceId/move`,
      `PATCH ${HOME}/devices/:deviceId/custom-data`,
      `DELETE ${HOME}/devices/:deviceId/alarms`,
      `GET ${HOME}/devices/:deviceId/export`,
    ],
  ],
  [
    ['manager', 'the home'],
    [`PATCH ${HOME}`, `POST ${HOME}/groups`, `POST ${HOME}/devices`, `POST ${HOME}/drills`],
  ],
  [
    ['admin', 'the gateway'],
    [
      'POST /care-homes',
      `DELETE ${HOME}`,
      'GET /connections',
      'GET /connections/denied',
      'GET /sessions',
      'GET /doctor',
      'GET /bridges',
      'DELETE /bridges/:name',
      'GET /bridges/:name/dead-letters',
      'GET /outputs',
      'GET /outputs/:name/dead-letters',
      'POST /outputs/:name/dead-letters/send-again',
      'GET /access-tokens',
      'POST /access-tokens',
      'GET /access-tokens/:tokenId',
      'PATCH /access-tokens/:tokenId',
      'POST /access-tokens/:tokenId/secret',
      'DELETE /access-tokens/:tokenId',
      'GET /audit',
      'POST /faults/:code/acknowledge',
    ],
  ],
];

/** Who sees what the lists below show. */
export const SEEN: Readonly<Record<string, Need>> = {
  home: ['viewer', 'part of the home'],
  group: ['viewer', 'the group'],
  room: ['viewer', 'the group'],
  device: ['viewer', 'the group'],
  alarmId: ['viewer', 'the group'],
  outside: ['viewer', 'the home'],
  otherHome: ['viewer', 'elsewhere'],
  stranger: ['viewer', 'elsewhere'],
};

/** Every list, and what is in it; nobody finds the id of anything else there that the grants do not cover. */
export const LISTS: readonly (readonly [path: string, shown: readonly string[]])[] = [
  ['/care-homes', ['home', 'otherHome', 'device', 'outside', 'stranger']],
  ['/alarms?limit=100', ['alarmId', 'device', 'outside', 'stranger']],
  ['.', ['home', 'device', 'outside']],
  ['./groups', ['group', 'room']],
  ['./rooms', ['room', 'device']],
  ['./devices', ['device', 'outside']],
  ['./alarms', ['alarmId', 'device', 'outside']],
  ['./rejected', ['device', 'outside']],
];

/** Contract 3, Subscribing. `maySubscribe` answers before anything is published; `mayReceive` decides later. */
export const FILTERS: readonly (readonly [filter: string, Need])[] = [
  ['care-homes/{home}/#', ['viewer', 'part of the home']],
  ['care-homes/{home}/+/+/+', ['viewer', 'part of the home']],
  ['care-homes/{home}/devices/{outside}/#', ['viewer', 'part of the home']],
  ['+/{home}/#', ['viewer', 'part of the home']],
  ['$share/ward/care-homes/{home}/#', ['viewer', 'part of the home']],
  ['care-homes/{otherHome}/devices/+/alarms/+', ['viewer', 'elsewhere']],
  ['+/{otherHome}/#', ['viewer', 'elsewhere']],
  ['$share/ward/care-homes/{otherHome}/#', ['viewer', 'elsewhere']],
  ['gateway/status', ['viewer', 'a place']],
  ['gateway/bridges/#', ['admin', 'the gateway']],
  ['#', 'a token'],
  ['+/#', 'a token'],
  ['+/+/devices/#', 'a token'],
  ['care-homes/#', 'a token'],
  ['care-homes/+/devices/+/alarms/#', 'a token'],
  ['devices/#', 'a token'],
  ['$SYS/#', 'a token'],
  ['$share/ward/#', 'a token'],
  ['care-homes//#', 'nobody'],
  ['care-homes', 'nobody'],
  ['/care-homes/{home}/#', 'nobody'],
  ['$queue/care-homes/{home}/#', 'nobody'],
  ['devices/{device}/alarms', 'nobody'],
  ['devices/{device}/commands/#', 'nobody'],
];

export const PUBLISHES: readonly (readonly [topic: string, Need])[] = [
  ['care-homes/{home}/devices/{device}/commands/light', ['manager', 'the group']],
  ['care-homes/{home}/devices/{outside}/commands/light', ['manager', 'the home']],
  ['care-homes/{home}/devices/{device}/alarm-states', ['responder', 'part of the home']],
  ['devices/{device}/value', ['publisher', 'the group']],
  ['devices/{device}/alarms/fall', ['publisher', 'the group']],
  ['devices/{outside}/value', ['publisher', 'the home']],
  ['devices/{stranger}/value', ['publisher', 'elsewhere']],
  ['devices/{nobody}/value', 'nobody'],
  ['care-homes/{home}/devices/{device}/value', 'nobody'],
  ['gateway/status', 'nobody'],
];

/** A device's own rights. */
export const OF_DEVICE: readonly (readonly [filter: string, isGranted: boolean])[] = [
  ['devices/{device}/commands/#', true],
  ['devices/{device}/commands/+', true],
  ['devices/{device}/rejected', true],
  ['devices/{device}/#', false],
  ['devices/{device}/+', false],
  ['devices/{device}/alarms', false],
  ['devices/+/commands/#', false],
  ['devices/{stranger}/commands/#', false],
  ['care-homes/{home}/#', false],
  ['gateway/status', false],
  ['#', false],
  ['$SYS/#', false],
  ['$share/ward/devices/{device}/commands/#', false],
];

/** Below `/care-homes`, as the administrator. */
export const UNKNOWN: readonly (readonly [path: string, outcome: string])[] = [
  ['{nobody}', '404 location-not-found'],
  ['{nobody}/rooms', '404 location-not-found'],
  ['{nobody}/groups', '404 location-not-found'],
  ['{nobody}/devices/{device}', '404 location-not-found'],
  ['{home}/devices/{nobody}', '404 device-not-found'],
  ['{home}/rooms/{nobody}', '404 room-not-found'],
  ['{home}/groups/{nobody}', '404 group-not-found'],
  ['{home}/alarms/{nobody}', '404 alarm-not-found'],
  ['nowhere/devices', '400 invalid-request'],
  ['{home}/devices/{device}x', '400 invalid-request'],
];
