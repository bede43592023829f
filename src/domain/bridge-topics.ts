/** Topics of a bridge: for messages to its upstream, and for commands from there. */

import type { AlarmKind } from './alarm.js';
import { isUuid } from './ids.js';
import { isSafeTopic, parseForwardedTopic } from './topics.js';

const PLACEHOLDERS = ['topic', 'locationId', 'deviceId', 'kind'] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];
const ALARMS_LEVEL = 'alarms/';

/** A template of the topics upstream: text and placeholders in turn. */
export type BridgeTopic = readonly (
  | { readonly text: string }
  | { readonly placeholder: Placeholder }
)[];

/** Reads a template like `care/{locationId}/{kind}`; undefined if it does not make a topic. */
export function parseBridgeTopic(template: string): BridgeTopic | undefined {
  const parts: BridgeTopic[number][] = [];
  for (const part of template.split(/(\{[^{}]*\})/).filter((text) => text !== '')) {
    const name = /^\{(.*)\}$/.exec(part)?.[1];
    const placeholder = PLACEHOLDERS.find((known) => known === name);
    if (placeholder !== undefined) parts.push({ placeholder });
    else if (name === undefined && !/[{}+#\p{Cc}]/u.test(part)) parts.push({ text: part });
    else return undefined;
  }
  return parts.length === 0 ? undefined : parts;
}

/**
 * The upstream topic of a forwarded topic.
 *
 * `{kind}` is the alarm's kind; for any other message, the levels after its device: `status`,
 * `battery/level`.
 */
export function bridgedTopic(template: BridgeTopic, topic: string): string {
  return template
    .map((part) => ('text' in part ? part.text : levelsFor(part.placeholder, topic)))
    .join('');
}

function levelsFor(placeholder: Placeholder, topic: string): string {
  if (placeholder === 'topic') return topic;
  if (placeholder !== 'kind') return parseForwardedTopic(topic)?.[placeholder] ?? '';
  const rest = topic.split('/').slice(4).join('/');
  return rest.startsWith(ALARMS_LEVEL) ? rest.slice(ALARMS_LEVEL.length) : rest;
}

/** The forwarded messages that a bridge sends. */
export interface BridgeSelection {
  /** Undefined: of all locations. */
  readonly locations?: readonly string[] | undefined;
  readonly send: 'alarms' | 'all';
  /** Undefined: alarms of all kinds. */
  readonly kinds?: readonly AlarmKind[] | undefined;
  /** Undefined: under all topics. */
  readonly filters?: readonly string[] | undefined;
}

/** Converts a selection to topic filters: a bridge subscribes like any other client. */
export function selectedFilters({ locations, send, kinds, filters }: BridgeSelection): string[] {
  const rests = send === 'all' ? ['#'] : (kinds ?? ['+']).map((kind) => ALARMS_LEVEL + kind);
  const selected = (locations ?? ['+']).flatMap((location) =>
    rests.map((rest) => `care-homes/${location}/devices/+/${rest}`),
  );
  if (filters === undefined) return selected;
  const both = selected.flatMap((one) => filters.map((other) => intersection(one, other)));
  return [...new Set(both.filter((filter) => filter !== undefined))];
}

/** The filter for the topics that both filters match; undefined when there are none. */
export function intersection(one: string, other: string): string | undefined {
  const [first, second] = [one.split('/'), other.split('/')];
  const levels: string[] = [];
  for (let at = 0; at < Math.max(first.length, second.length); at++) {
    const [a, b] = [first[at], second[at]];
    if (a === '#') return [...levels, ...second.slice(at)].join('/') || '#';
    if (b === '#') return [...levels, ...first.slice(at)].join('/');
    if (a === undefined || b === undefined) return undefined;
    if (a !== b && a !== '+' && b !== '+') return undefined;
    levels.push(a === '+' ? b : a);
  }
  return levels.join('/');
}

/** A command from upstream. */
export interface BridgedCommand {
  /** Undefined where the topic names none. */
  readonly locationId: string | undefined;
  readonly deviceId: string;
  readonly rest: string;
}

/** Parses `…/devices/<id>/commands/<rest>`, whatever the upstream puts before it. */
export function parseBridgedCommand(topic: string): BridgedCommand | undefined {
  const [, place = '', deviceId = '', rest = ''] =
    /^(.*?)(?:^|\/)devices\/([^/]+)\/commands\/(.+)$/.exec(topic) ?? [];
  if (!isUuid(deviceId) || !isSafeTopic(rest)) return undefined;
  const location = /(?:^|\/)care-homes\/([^/]+)$/.exec(place)?.[1];
  return {
    locationId: location?.toLowerCase(),
    deviceId: deviceId.toLowerCase(),
    rest,
  };
}
