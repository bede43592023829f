/** Failures for a missing part of the site, equal from memory and from the store. */

import type { Failure } from '../errors.js';

export const NO_LOCATION: Failure = {
  code: 'location-not-found',
  detail: 'There is no such location.',
};
export const NO_DEVICE: Failure = {
  code: 'device-not-found',
  detail: 'There is no such device in this location.',
};
export const NO_ROOM: Failure = {
  code: 'room-not-found',
  detail: 'There is no such room in this location.',
};
export const NO_ROOM_IN_GROUP: Failure = {
  code: 'room-not-found',
  detail: 'There is no such room in this group.',
};
export const NO_GROUP: Failure = {
  code: 'group-not-found',
  detail: 'There is no such group in this location.',
};
export const NO_ALARM: Failure = {
  code: 'alarm-not-found',
  detail: 'There is no such alarm in this location.',
};
export const NO_ACCESS_TOKEN: Failure = {
  code: 'access-token-not-found',
  detail: 'There is no such access token.',
};
