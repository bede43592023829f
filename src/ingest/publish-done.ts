import type { InvalidPublishReason } from '../domain/alarms.js';

/**
 * Called when a publish may be acknowledged, or with `false` when it could not be stored.
 *
 * @param refused why it cannot be used; that is reported
 */
export type PublishDone = (isStored: boolean, refused?: InvalidPublishReason) => void;
