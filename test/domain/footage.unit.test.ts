import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOwnFootageKey } from '../../src/domain/alarm-payload.js';
import { isFootageContentType, newRecording, parseRecordingKey } from '../../src/domain/footage.js';

const contentTypes = fc
  .tuple(fc.constantFrom('video' as const, 'audio' as const), fc.stringMatching(/^[a-z0-9.+_-]+$/))
  .map(([type, subtype]) => ({ type, contentType: `${type}/${subtype}` }))
  .filter(({ type, contentType }) => isFootageContentType(contentType, type));

describe('the key of a recording', () => {
  it('describes the recording, and may be named in an alarm of its device', () => {
    fc.assert(
      fc.property(fc.uuid(), contentTypes, (deviceId, { type, contentType }) => {
        const recording = newRecording(deviceId, type, contentType);
        expect(parseRecordingKey(recording.key)).toEqual(recording);
        expect(isOwnFootageKey(recording.key, deviceId)).toBe(true);
        expect(isOwnFootageKey(recording.key, randomUUID())).toBe(false);
      }),
    );
  });

  it('is the only permitted form of a file name in the folder', () => {
    const [device, id] = [randomUUID(), randomUUID()];
    const others = [
      '',
      `${device}/video/${id}`,
      `${device}/video/${id}.`,
      `${device}/video/${id}..`,
      `${device}/video/${id}.mp4/`,
      `${device}/video/${id}.mp4\n`,
      `${device}/video/${id}.MP4`,
      `${device}/image/${id}.png`,
      `${device}/video/../${id}.mp4`,
      `${device}/video/x/${id}.mp4`,
      `${device}//${id}.mp4`,
      `/${device}/video/${id}.mp4`,
      `devices/${device}/video/${id}.mp4`,
      `../${device}/video/${id}.mp4`,
      `${device.toUpperCase()}X/video/${id}.mp4`,
      `${device}/video/${id}.mp4\0`,
      `${device}\\video\\${id}.mp4`,
    ];
    for (const key of others) expect([key, parseRecordingKey(key)]).toEqual([key, undefined]);
  });
});

describe('a content type', () => {
  it('is one of video or audio, as announced, in lower case and without parameters', () => {
    for (const good of ['video/mp4', 'video/3gpp2', 'video/x-msvideo', 'video/vnd.rn+x']) {
      expect([good, isFootageContentType(good, 'video')]).toEqual([good, true]);
      expect([good, isFootageContentType(good, 'audio')]).toEqual([good, false]);
    }
    const bad = [
      'video/MP4',
      'video/',
      'video/.',
      'video/a/b',
      'video/a;b',
      'video/a b',
      'video/a\n',
    ];
    for (const text of [...bad, 'text/html', 'xvideo/mp4', `video/${'x'.repeat(65)}`]) {
      expect([text, isFootageContentType(text, 'video')]).toEqual([text, false]);
    }
  });
});
