import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CARE_HOME } from './care-home.js';
import { DemoError } from './demo-error.js';
import { GatewayProcess, logFile, type Machine } from './gateway-process.js';
import { type InstalledHome, installHome } from './management.js';
import { locationFilter } from './nurse-call.js';
import { counted, heading, summary } from './screen.js';
import { Simulation, type Stage } from './simulation.js';
import type { Look } from './table.js';

/**
 * Runs the whole demo: gateway, home and simulation.
 *
 * Nothing is left behind, except the gateway's log after a failure. Aborting the signal ends the demo early.
 *
 * @param alarms the number of alarms; undefined for no end but the signal
 * @throws DemoError with the failure and the path of the log
 */
export async function runDemo(
  machine: Machine,
  stage: Stage,
  alarms: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'care-home-demo-'));
  try {
    stage.print('Starting the gateway and setting up a made-up care home …\n');
    await withGateway(machine, directory, signal, (gateway) =>
      show(gateway, stage, alarms, signal),
    );
  } catch (error) {
    if (error !== signal.reason) {
      const detail = error instanceof Error ? error.message : String(error);
      throw new DemoError(`${detail}\nThe gateway's log: ${logFile(directory)}`, { cause: error });
    }
  }
  await rm(directory, { recursive: true, force: true });
}

async function withGateway(
  machine: Machine,
  directory: string,
  signal: AbortSignal,
  use: (gateway: GatewayProcess) => Promise<void>,
): Promise<void> {
  const gateway = await GatewayProcess.start(machine, directory, signal);
  let endedCleanly = false;
  try {
    await Promise.race([use(gateway), gateway.watch()]);
  } finally {
    endedCleanly = await gateway.stop();
  }
  if (!endedCleanly) throw new DemoError('the gateway did not stop cleanly');
}

async function show(
  gateway: GatewayProcess,
  stage: Stage,
  alarms: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const home = await installHome(gateway.httpUrl, gateway.adminToken, CARE_HOME);
  signal.throwIfAborted();
  stage.print(introduction(gateway, home, stage.look(), alarms));
  const simulation = new Simulation(`mqtt://127.0.0.1:${gateway.mqttPort}`, home, stage);
  const totals = await simulation.run(alarms ?? Number.POSITIVE_INFINITY, signal);
  stage.print(summary(stage.look(), totals));
  if (totals.lost > 0) {
    throw new DemoError(`${counted(totals.lost, 'alarm')} did not arrive in time`);
  }
}

function introduction(
  gateway: GatewayProcess,
  home: InstalledHome,
  look: Look,
  alarms: number | undefined,
): string {
  return heading(look, {
    locationName: home.name,
    deviceCount: home.devices.length,
    mqttPort: gateway.mqttPort,
    tokenId: home.nurseCallToken.id,
    token: home.nurseCallToken.token,
    filter: locationFilter(home),
    alarms,
  });
}
