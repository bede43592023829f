import { stopOnInterrupt, wasInterrupted } from '../interruption.js';
import { Cleanups } from './cleanups.js';
import type { Measure, Outcome, Trial } from './measure.js';
import { MeasureResults } from './results.js';
import type { Scale } from './scale.js';
import { duration } from './show.js';

/** Longer than all the bounds inside a trial. */
const TRIAL_BOUND_MS = 10 * 60_000;

/** Runs all trials of a measure round by round, so that other load on the machine affects all. */
export async function runMeasure(measure: Measure, scale: Scale): Promise<MeasureResults> {
  const results = new MeasureResults(measure);
  const trials = measure.trials(scale);
  const rounds = Math.min(scale.rounds, measure.maxRounds ?? scale.rounds);
  for (let round = 1; round <= rounds; round++) {
    for (const trial of trials) {
      const begunMs = performance.now();
      const outcomes = await runTrial(trial);
      // The process ends once everything is stopped.
      if (wasInterrupted()) await new Promise<never>(() => undefined);
      for (const outcome of outcomes) results.add(trial.contestant, outcome);
      const took = duration(performance.now() - begunMs);
      console.log(`  ${measure.name}, round ${round} of ${rounds}: ${trial.contestant}, ${took}`);
    }
  }
  return results;
}

/** Runs a trial; if it fails, only its own figures are lost. */
async function runTrial(trial: Trial): Promise<readonly Outcome[]> {
  const cleanups = new Cleanups();
  const forget = stopOnInterrupt(() => cleanups.run());
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`given up after ${duration(TRIAL_BOUND_MS)}`)),
      TRIAL_BOUND_MS,
    );
  });
  try {
    return await Promise.race([trial.run(cleanups), bound]);
  } catch (error) {
    if (wasInterrupted()) return [];
    const [reason = ''] = String(error).split('\n');
    console.error(`  failed: ${reason}`);
    return [{ case: 'failed', values: {}, notes: [reason] }];
  } finally {
    clearTimeout(timer);
    await cleanups.run();
    forget();
  }
}
