import { z } from 'zod';
import { faultTextsIn } from '../../harness/described/fault-texts.js';
import type { RunningGateway } from '../gateway/running-gateway.js';
import { Api } from './api.js';

const viewSchema = z.looseObject({ clientId: z.string() });
const deniedSchema = z.looseObject({ clientId: z.string().nullable(), code: z.string() });

/** The open MQTT connections, as `GET /connections` shows them. */
export async function connectionListOf(gateway: RunningGateway) {
  const page = Object(await new Api(gateway).json('GET', '/connections?limit=100'));
  return z.array(viewSchema).parse(page.connections);
}

/** The newest denials and connect errors. */
export async function deniedOf(gateway: RunningGateway) {
  return z.array(deniedSchema).parse(await new Api(gateway).json('GET', '/connections/denied'));
}

/** The current faults, as texts. */
export async function faultsOf(gateway: RunningGateway): Promise<readonly string[]> {
  const response = await new Api(gateway).request('GET', '/readyz');
  return faultTextsIn(await response.json());
}
