import type { TestToken } from './api.js';
import { type MqttAddress, RawClient } from './raw-client.js';

/** A subscriber that misbehaves until it is ended. */
export interface BadSubscriber {
  end(): void;
}

type Begin = (gateway: MqttAddress, token: TestToken, locationId: string) => Promise<BadSubscriber>;

const FILTERS = 1_000;

/** Subscribes, then reads nothing more from its socket; reconnects when disconnected. */
const stopsReading: Begin = async (gateway, token, locationId) => {
  let isEnded = false;
  const clientId = `stops-reading-${locationId}`;
  let client = await subscribed(gateway, token, clientId, [`care-homes/${locationId}/#`]);
  const again = (): void => {
    client.stream.pause();
    client.stream.once('close', () => {
      if (isEnded) return;
      subscribed(gateway, token, clientId, []).then(
        (next) => {
          client = next;
          if (isEnded) client.vanish();
          else again();
        },
        () => undefined,
      );
    });
  };
  again();
  return {
    end: () => {
      isEnded = true;
      client.vanish();
    },
  };
};

/** Reads everything and acknowledges nothing. */
const neverAcknowledges: Begin = async (gateway, token, locationId) => {
  const filters = [`care-homes/${locationId}/#`];
  const client = await subscribed(gateway, token, `never-acknowledges-${locationId}`, filters);
  return { end: () => client.vanish() };
};

/** Breaks each connection as soon as it is made, and reconnects without a pause. */
const reconnects: Begin = async (gateway, token, locationId) => {
  let isEnded = false;
  const clientId = `reconnects-${locationId}`;
  const first = await subscribed(gateway, token, clientId, [`care-homes/${locationId}/#`]);
  first.vanish();
  const loop = async (): Promise<void> => {
    while (!isEnded) {
      const client = await RawClient.connect(gateway, token, persistent(clientId));
      client.vanish();
    }
  };
  loop().catch(() => undefined);
  return {
    end: () => {
      isEnded = true;
    },
  };
};

/** Has as many filters as allowed, most of which match nothing, and acknowledges as it should. */
const hasManyFilters: Begin = async (gateway, token, locationId) => {
  const devices = `care-homes/${locationId}/devices`;
  const useless = Array.from({ length: FILTERS - 1 }, (_, at) => `${devices}/+/alarms/${at}`);
  const filters = [...useless, `${devices}/+/alarms/#`];
  const client = await subscribed(gateway, token, `many-filters-${locationId}`, filters);
  client.acknowledgeAll();
  return { end: () => client.vanish() };
};

export const BAD_SUBSCRIBERS: ReadonlyMap<string, Begin> = new Map([
  ['stops reading', stopsReading],
  ['never acknowledges', neverAcknowledges],
  ['reconnects in a loop', reconnects],
  ['has 1,000 filters', hasManyFilters],
]);

function persistent(clientId: string) {
  return { clientId, clean: false } as const;
}

async function subscribed(
  gateway: MqttAddress,
  token: TestToken,
  clientId: string,
  filters: readonly string[],
): Promise<RawClient> {
  const client = await RawClient.connect(gateway, token, persistent(clientId));
  if (filters.length > 0) await client.subscribe(filters);
  return client;
}
