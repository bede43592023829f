import { principalKey } from '../domain/grants.js';
import type { AccessToken, Device, RecordChange } from '../domain/site.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';

/** Devices and tokens as they were before a change of the site. */
export interface SiteBefore {
  readonly devices: readonly DeviceBefore[];
  readonly tokens: readonly AccessToken[];
}

interface DeviceBefore {
  readonly device: Device;
  /** The text of its context; undefined when it is certain to change. */
  readonly text: string | undefined;
}

/** Notes the whole site, before a reload. */
export function noteSite(model: SiteModel): SiteBefore {
  const devices = model.devices().map((device) => withText(device, model));
  return { devices, tokens: model.accessTokens() };
}

/** Notes all devices and tokens that these changes concern. */
export function noteConcerned(model: SiteModel, changes: readonly RecordChange[]): SiteBefore {
  const devices: DeviceBefore[] = [];
  const tokens: AccessToken[] = [];
  const places = new Set<string>();
  for (const { kind, before, after } of changes) {
    if (before === undefined) continue;
    if (kind === 'device') devices.push(withText(before, model));
    else if (kind === 'access-token') tokens.push(before);
    else if (after !== undefined) places.add(before.id);
  }
  if (places.size > 0) {
    const within = model.devicesWithin(places);
    devices.push(...within.map((device) => ({ device, text: undefined })));
  }
  return { devices, tokens };
}

/** Tells other parts what has become of the devices and tokens. */
export function announce(before: SiteBefore, model: SiteModel, events: SiteEvents): void {
  for (const device of before.devices) announceDevice(device, model, events);
  for (const token of before.tokens) announceToken(token, model, events);
}

function withText(device: Device, model: SiteModel): DeviceBefore {
  return { device, text: model.context(device.id)?.text };
}

function announceDevice(
  { device: before, text }: DeviceBefore,
  model: SiteModel,
  events: SiteEvents,
): void {
  const after = model.device(before.id);
  const principal = principalKey({ type: 'device', id: before.id });
  const isRemoved = after === undefined && !model.isUnreadable(principal);
  // Before its connections end: it must still be known that it was online.
  if (isRemoved) events.emit('deviceDeleted', before);
  if (after?.secretHash !== before.secretHash) events.emit('credentialEnded', principal);
  if (isRemoved) events.emit('principalRemoved', principal);
  if (after === undefined) return;
  if (after.locationId !== before.locationId) {
    events.emit('deviceMoved', { before, after });
  } else if (text === undefined || model.context(after.id)?.text !== text) {
    events.emit('deviceChanged', after.id);
  }
}

function announceToken(before: AccessToken, model: SiteModel, events: SiteEvents): void {
  const after = model.accessToken(before.id);
  const principal = principalKey({ type: 'token', id: before.id, grants: before.grants });
  if (after !== before) events.emit('tokenChanged', before.id);
  if (after?.tokenHash !== before.tokenHash) events.emit('credentialEnded', principal);
  if (after !== undefined || model.isUnreadable(principal)) return;
  events.emit('principalRemoved', principal);
}
