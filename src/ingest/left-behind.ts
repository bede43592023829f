import type { DirectMessage } from '../delivery/direct-queue.js';
import type { Forwarder } from '../delivery/forwarder.js';
import type { RetainedTopics } from '../delivery/retained-messages.js';
import { parseCommandTopic, parseForwardedTopic } from '../domain/topics.js';
import type { SiteModel } from '../site/site-model.js';

/**
 * Forgets what is retained of devices that are gone, and of others at places where they are no longer.
 *
 * That is done after each change of the site (`site-following.ts`), but the gateway may be killed in between.
 * To be called once, after the start.
 */
export async function forgetLeftBehind(
  model: SiteModel,
  forwarder: Pick<Forwarder, 'forget'>,
  topics: RetainedTopics,
): Promise<void> {
  const isMeant = (message: Told) => isLeftBehind(message, model);
  for await (const page of topics.startingWith('')) {
    for (const { topic } of page) {
      // A command does not tell by its topic alone.
      if (parseCommandTopic(topic) === undefined && !isMeant({ topic })) continue;
      await forwarder.forget(topic, isMeant);
    }
  }
}

/** The parts of a retained message from which the place of its device is known. */
type Told = Pick<DirectMessage, 'topic' | 'givenIn'>;

function isLeftBehind({ topic, givenIn }: Told, model: SiteModel): boolean {
  const forwarded = parseForwardedTopic(topic);
  const deviceId = forwarded?.deviceId ?? parseCommandTopic(topic);
  if (deviceId === undefined) return false;
  const device = model.device(deviceId);
  // Somebody may restore an unreadable record.
  if (device === undefined) return !model.isUnreadable(`device:${deviceId}`);
  // An earlier version did not write down where a command was given.
  const locationId = forwarded?.locationId ?? givenIn ?? device.locationId;
  return locationId !== device.locationId;
}
