import { z } from 'zod';
import { RedisServer } from '../../../../test/former/servers/redis-server.js';
import { Program } from '../program.js';
import { FSYNC_ALWAYS } from './aedes.js';
import { type Contestant, plainHome } from './contestant.js';
import { startMosquitto } from './mosquitto.js';

/** Mosquitto with a client behind it that stores and enriches: the obvious alternative. */
export const ENRICHER: Contestant = {
  name: 'Mosquitto + enricher',
  start: async (count, cleanups) => {
    const mosquitto = await startMosquitto(cleanups);
    const redis = await RedisServer.start(...FSYNC_ALWAYS);
    cleanups.onEnd(() => redis.remove());
    const home = plainHome(count);
    const enricher = Program.start('contestants/enricher-program.js', cleanups);
    const { locationId, devices } = home;
    const deviceIds = devices.map(({ username }) => username);
    const place = { port: mosquitto.port, socketPath: redis.socketPath, locationId, deviceIds };
    await enricher.ask(place, z.literal('subscribed'));
    return {
      ...home,
      // The enricher stands between a device's publish and the subscribers.
      falls: { ...home.falls, publish: 'devices/{device}/alarms' },
      port: mosquitto.port,
      processIds: [mosquitto.processId, enricher.processId, redis.processId],
    };
  },
};
