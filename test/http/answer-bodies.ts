import { z } from 'zod';

/** The parts of answers that the harness reads. */

export const homeList = z.array(z.looseObject({ id: z.string(), devices: z.array(z.string()) }));
export const idBody = z.looseObject({ id: z.string() });
export const tokenBody = z.looseObject({ id: z.string(), token: z.string() });

export const cameraBody = z.looseObject({ id: z.string(), secret: z.string() });
export type Camera = z.infer<typeof cameraBody>;
export const secretBody = z.looseObject({ id: z.string().optional(), secret: z.string() });
