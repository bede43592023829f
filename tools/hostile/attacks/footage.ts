import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { z } from 'zod';
import type { Login } from '../../../test/harness/load/plan.js';
import type { Attack } from '../attack.js';

const MIB = 1024 * 1024;
/** The room left for recordings: an attack must not fill the disk of the machine it runs on. */
const ROOM_BYTES = 1_024 * MIB;
const UPLOAD_BYTES = 64 * MIB;

const preparedSchema = z.object({ uploadUrl: z.string() });

/** Uploads a recording. Resolves to the decisive status. */
async function upload(httpUrl: string, camera: Login, bytes: number): Promise<number> {
  const basic = Buffer.from(`${camera.username}:${camera.password}`).toString('base64');
  const prepared = await fetch(`${httpUrl}/devices/${camera.username}/footage`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
    body: '{"type":"video","contentType":"video/mp4"}',
  });
  const body: unknown = await prepared.json();
  if (prepared.status !== 201) return prepared.status;
  const { uploadUrl } = preparedSchema.parse(body);
  const headers = { 'content-type': 'video/mp4' };
  const stored = await fetch(uploadUrl, { method: 'PUT', headers, body: Buffer.alloc(bytes) });
  await stored.arrayBuffer();
  return stored.status;
}

const footage: Attack = {
  name: 'footage',
  finding: 'S10',
  surface: 'http',
  what: 'one camera uploads recordings of 64 MB until nothing more is taken; another camera must still be able to',
  isForMosquitto: false,
  needs: () => {
    const { bavail, bsize } = statfsSync(tmpdir());
    const minFree = Math.max(0, bavail * bsize - ROOM_BYTES);
    return { environment: { GATEWAY_FOOTAGE_MIN_FREE_BYTES: String(minFree) } };
  },
  arm: async (site) => ({ ...(await site.arms(1)), texts: { httpUrl: site.httpUrl() } }),
  run: (field) =>
    field.repeat(4, async () => {
      const [camera] = field.arms.devices;
      if (camera === undefined) return;
      const status = await upload(field.text('httpUrl'), camera, UPLOAD_BYTES);
      field.count(`status ${status}`);
      if (status >= 400) await field.pause(200);
    }),
  harm: async (site) => {
    const status = await upload(site.httpUrl(), site.newcomer(), MIB);
    return status < 300 ? undefined : `another camera gets ${status}`;
  },
};

export const FOOTAGE: readonly Attack[] = [footage];
