import { spawnSync } from 'node:child_process';
import { arch, cpus, release, totalmem } from 'node:os';

const GIB = 1024 ** 3;

/** The machine of a run and the programs on it, for readers of the figures. */
export interface Machine {
  readonly at: string;
  readonly commit: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  readonly redis: string;
  readonly mosquitto: string;
}

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    at: new Date().toISOString(),
    commit: firstLine('git', ['describe', '--always', '--dirty']),
    processor: processors[0]?.model ?? arch(),
    cores: processors.length,
    memoryGib: Math.round(totalmem() / GIB),
    kernel: release(),
    node: process.version,
    redis: firstLine('redis-server', ['--version']),
    mosquitto: firstLine('mosquitto', ['-h']),
  };
}

/** Reads a program's output, whatever its exit status: that of `mosquitto -h` is 1. */
function firstLine(program: string, args: readonly string[]): string {
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };
  const { stdout } = spawnSync(program, args, { env, encoding: 'utf8' });
  return stdout?.split('\n')[0] || 'unknown';
}
