/** The brokers in the comparison, each with one care home and in processes of its own. */
import { randomUUID } from 'node:crypto';
import { Gateway, storeProcessId } from '../../test/harness/gateway.js';
import { Home } from '../../test/harness/home.js';
import type { Login } from '../../test/harness/load/plan.js';
import { claimPort, Program } from '../../test/harness/program.js';
import { Mosquitto } from '../../test/harness/upstream.js';
import { times } from '../../test/harness/wait.js';

/** Where the load publishes and subscribes. */
interface Channel {
  /** A device's topic, with `{device}` for its user name. */
  readonly topic: string;
  readonly filter: string;
}

export interface Broker {
  readonly port: number;
  readonly devices: readonly Login[];
  readonly falls: Channel;
  readonly telemetry: Channel;
  /** The processes of the broker and of its store. */
  processIds(): readonly number[];
  subscriber(clientId: string): Login;
  /** Kills the broker's own process and starts it again on its port. */
  restart(): Promise<void>;
  remove(): Promise<void>;
}

export interface Contestant {
  readonly name: string;
  start(devices: number): Promise<Broker>;
}

/** Devices of other brokers publish directly to the topics on which the gateway forwards; anyone may connect. */
function plainHome(count: number) {
  const topics = `care-homes/${randomUUID()}/devices`;
  const login = (clientId: string) => ({ clientId, username: clientId, password: 'password' });
  return {
    devices: Array.from({ length: count }, () => login(randomUUID())),
    falls: { topic: `${topics}/{device}/alarms/fall`, filter: `${topics}/+/alarms/#` },
    telemetry: { topic: `${topics}/{device}/load`, filter: `${topics}/+/load` },
    subscriber: login,
  };
}

/** The gateway as built, with its embedded store and default settings. */
export async function startGateway(count: number): Promise<Broker & { readonly gateway: Gateway }> {
  const gateway = await Gateway.start({ kind: 'process' });
  const home = await Home.at(gateway);
  const devices = await times(count, () => home.device());
  const topics = `${home.path.slice(1)}/devices`;
  return {
    gateway,
    port: gateway.mqttPort,
    devices: devices.map(({ id, secret }) => ({ clientId: id, username: id, password: secret })),
    falls: { topic: 'devices/{device}/alarms', filter: `${topics}/+/alarms/#` },
    telemetry: { topic: 'devices/{device}/load', filter: `${topics}/+/load` },
    processIds: () => [gateway.processId, storeProcessId(gateway.dataDir) ?? 0],
    subscriber: (clientId) => {
      const { id, token } = home.viewer;
      return { clientId, username: id, password: token };
    },
    // The store keeps running and is adopted.
    restart: async () => {
      await gateway.kill();
      await gateway.start();
    },
    remove: () => gateway.remove(),
  };
}

export const GATEWAY: Contestant = { name: 'gateway', start: startGateway };

export const AEDES: Contestant = {
  name: 'Aedes',
  start: async (count) => {
    const port = await claimPort();
    const program = new Program();
    const args = ['tools/measure/aedes.mjs', String(port)];
    const start = () => program.ready('listens on', process.execPath, args, process.env);
    await start();
    return {
      ...plainHome(count),
      port,
      processIds: () => [program.processId],
      restart: async () => {
        await program.kill();
        await start();
      },
      remove: () => program.kill(),
    };
  },
};

/** It stores nothing, and has room for everything that waits in a measure; the default is 20 in flight. */
const IN_MEMORY = {
  persistence: false,
  max_inflight_messages: 1_000,
  max_queued_messages: 1_000_000,
};

export const MOSQUITTO: Contestant = {
  name: 'Mosquitto',
  start: async (count) => {
    const mosquitto = await Mosquitto.start({ settings: IN_MEMORY });
    return {
      ...plainHome(count),
      port: mosquitto.port,
      processIds: () => [mosquitto.processId],
      restart: async () => {
        await mosquitto.kill();
        await mosquitto.start();
      },
      remove: () => mosquitto.remove(),
    };
  },
};

export const CONTESTANTS: readonly Contestant[] = [GATEWAY, AEDES, MOSQUITTO];
