import { FOOTAGE_TYPES, type FootageType } from './alarm.js';
import { newId } from './ids.js';

/**
 * A media type of video or audio, without parameters (RFC 6838, 4.2).
 *
 * Subtypes cannot have characters that mean something in a URL; no registered subtype has any.
 */
const CONTENT_TYPE = /^(video|audio)\/([a-z0-9][a-z0-9.+_-]{0,63})$/;
const UUID_IN_LOWER_CASE = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const KEY = new RegExp(
  `^(${UUID_IN_LOWER_CASE})/(video|audio)/(${UUID_IN_LOWER_CASE})\\.([a-z0-9][a-z0-9.+_-]{0,63})$`,
);

/**
 * An uploaded recording, as its object key describes it.
 *
 * The key says everything, including the content type, so nothing else has to be stored with the
 * recording.
 */
export interface Recording {
  /** `<deviceId>/<type>/<id>.<subtype>` */
  readonly key: string;
  readonly deviceId: string;
  readonly type: FootageType;
  readonly id: string;
  /** For example `video/mp4`. */
  readonly contentType: string;
}

/** Whether the text, in lower case, is a content type for footage of this type. */
export function isFootageContentType(text: string, type: FootageType): boolean {
  return CONTENT_TYPE.exec(text)?.[1] === type;
}

/** Makes the key of a new recording; nobody can guess it. */
export function newRecording(deviceId: string, type: FootageType, contentType: string): Recording {
  const id = newId();
  const subtype = contentType.slice(contentType.indexOf('/') + 1);
  return { key: `${deviceId}/${type}/${id}.${subtype}`, deviceId, type, id, contentType };
}

/** Parses the key of an upload; undefined for any other key. */
export function parseRecordingKey(key: string): Recording | undefined {
  const [, deviceId = '', sentType, id = '', subtype = ''] = KEY.exec(key) ?? [];
  const type = FOOTAGE_TYPES.find((known) => known === sentType);
  return type && { key, deviceId, type, id, contentType: `${type}/${subtype}` };
}
