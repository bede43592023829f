import { z } from 'zod';
import type { Address } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/store-access.js';
import { Informant } from './informant.js';
import type { Claim, PrimarySource } from './primary-watch.js';

const addressSchema = z.tuple([z.string(), z.coerce.number()]);
const fieldsSchema = z.array(z.string());

export interface SentinelOptions {
  readonly sentinels: readonly Address[];
  /** The primary's name in the Sentinels' configuration. */
  readonly name: string;
  /** Access to the Sentinels, not to the store. */
  readonly access: StoreAccess;
}

/** The Sentinels of a primary and its replicas. */
export function sentinelSource({ sentinels, name, access }: SentinelOptions): PrimarySource {
  const informants = sentinels.map((address) => new Informant(address, access));
  return {
    name: `no Sentinel names the primary of ${name}`,
    ask: () => informants.map((informant) => claimOf(informant, name)),
    stop: () => {
      for (const informant of informants) informant.stop();
    },
  };
}

async function claimOf(informant: Informant, name: string): Promise<Claim> {
  // The first command knows a promoted replica sooner; only the second has the epoch.
  const [address, primary] = await informant.ask(
    ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name],
    ['SENTINEL', 'MASTER', name],
  );
  const [host, port] = addressSchema.parse(address);
  const fields = fieldsSchema.parse(primary);
  const epoch = Number(fields[fields.indexOf('config-epoch') + 1]);
  return { primary: { host, port }, epoch };
}
