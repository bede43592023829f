import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;
/** A value of a metric, and its labels. */
export type Sample = readonly [value: number, labels?: Labels | undefined];
type Values = number | readonly Sample[];

/** A histogram without labels; the count of each bucket excludes the lower ones. */
export interface Buckets {
  /** One more than `bounds`: the last bucket has none. */
  readonly counts: readonly number[];
  readonly bounds: readonly number[];
  readonly sum: number;
}

/** Once for the process, however often it starts to serve: their observers are never removed. */
const processMetrics = new Registry();
collectDefaultMetrics({ register: processMetrics });
/** Gauges with the name of a counter; other metrics have the same numbers by kind. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/**
 * Metrics whose values are read on demand.
 *
 * The registry starts to read all of them in one go, so that the numbers of one answer belong together.
 */
export class Scraped {
  readonly registry = new Registry();
  readonly #histograms: (() => string)[] = [];

  /** Includes the version of the format, which scrapers need. */
  get contentType(): string {
    return this.registry.contentType;
  }

  /** The metrics in the text format of Prometheus. */
  async metrics(): Promise<string> {
    const histograms = this.#histograms.map((render) => render());
    return [await this.registry.metrics(), ...histograms].join('\n');
  }

  /** Adds the metrics of the process: memory, processor time, event loop, garbage collection. */
  addProcess(): void {
    for (const { name } of processMetrics.getMetricsAsArray()) {
      const metric = processMetrics.getSingleMetric(name);
      if (metric !== undefined && !MISNAMED.includes(name)) this.registry.registerMetric(metric);
    }
  }

  /** Adds a value that may rise and fall. */
  gauge(
    name: string,
    help: string,
    read: () => Values | Promise<Values>,
    labelNames: readonly string[] = [],
  ): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: () => replace(gauge, read()),
    });
  }

  /** Adds a value that only rises, in this run of the gateway. */
  counter(
    name: string,
    help: string,
    read: () => Values | Promise<Values>,
    labelNames: readonly string[] = [],
  ): void {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: () => replace(counter, read()),
    });
  }

  /**
   * Adds a histogram that is counted elsewhere.
   *
   * For each alarm, observing with prom-client would cost more than the rest of the counting.
   */
  histogram(name: string, help: string, read: () => Buckets): void {
    this.#histograms.push(() => {
      const { counts, bounds, sum } = read();
      let total = 0;
      const buckets = counts.map((count, index) => {
        total += count;
        return `${name}_bucket{le="${bounds[index] ?? '+Inf'}"} ${total}\n`;
      });
      const head = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
      return `${head}${buckets.join('')}${name}_sum ${sum}\n${name}_count ${total}\n`;
    });
  }
}

/** A code of the gateway as the value of a label, in snake_case. */
export function labelValue(code: string): string {
  return code.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Shares one read among all metrics of a scrape, which are read in one go. */
export function oncePerScrape<Value>(read: () => Value): () => Value {
  let last: { readonly value: Value } | undefined;
  return () => {
    if (last === undefined) {
      last = { value: read() };
      queueMicrotask(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

/** Replaces the values: immediately, unless they are a promise. */
function replace(metric: Gauge | Counter, values: Values | Promise<Values>): void | Promise<void> {
  if (values instanceof Promise) return values.then((read) => replace(metric, read));
  metric.reset();
  const samples: readonly Sample[] = typeof values === 'number' ? [[values]] : values;
  for (const [value, labels = {}] of samples) metric.inc({ ...labels }, value);
}
