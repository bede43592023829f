import { readFile } from 'node:fs/promises';

/** The unit of `/proc/<pid>/stat`: `USER_HZ` is 100 on every Linux that Node.js runs on. */
const TICK_MS = 10;
const KIB = 1024;

/** The processor time that a process has used so far, in steps of 10 ms. */
export async function processorMs(processId: number): Promise<number> {
  const stat = await readFile(`/proc/${processId}/stat`, 'utf8');
  // After the name in brackets, which may contain spaces: state, ten numbers, utime, stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The memory that a process occupies now. */
export function residentBytes(processId: number): Promise<number> {
  return statusBytes(processId, 'VmRSS');
}

/** The most memory that a process has occupied so far. */
export function peakResidentBytes(processId: number): Promise<number> {
  return statusBytes(processId, 'VmHWM');
}

async function statusBytes(processId: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${processId}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * KIB;
}
