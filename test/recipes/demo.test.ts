/** `npm run demo`: what it shows, how it ends, and that it leaves nothing behind. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { describe, expect, it, type TestContext } from 'vitest';
import { startBrowser } from '../browser/browser.js';

const ESCAPE = '\u001b[';
const FORWARDED_WITH_CUSTOM_DATA =
  /← forwarded {2}\w+ +\S[\w ]+ +[\d.]+ m?s {2}\{"(room|area)":".*\} +care-homes\/\S+\/alarms\/\w+$/gm;
const run = promisify(execFile);

/** The column names, and an alarm as published and as forwarded. */
const SHOWN = `
import { columnNames, messageLine } from './scripts/demo/show.mjs';
const alarm = { kind: 'outOfBed', device: 'Bed mat 101 A' };
const topic = 'care-homes/x/devices/663e5d0c-0f6f-4c0e-8a3b-0d1c5e6f7a8b/alarms/outOfBed';
const customData = { room: '101', bed: 'A', resident: 'NC-2041' };
process.stdout.write(columnNames());
process.stdout.write(messageLine({ ...alarm, topic }));
process.stdout.write(messageLine({ ...alarm, topic, customData, tookMs: 4.2 }));`;

/** The demo as a process without a terminal, with its own temporary files. */
class DemoRun {
  readonly directory = mkdtempSync(join(tmpdir(), 'demo-test-'));
  readonly ended: Promise<number | null>;
  output = '';
  errors = '';
  readonly #child: ChildProcess;

  constructor(
    { onTestFinished }: TestContext,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const child = spawn(process.execPath, ['scripts/demo/main.mjs', ...args], {
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: this.directory, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.errors += chunk.toString();
    });
    this.ended = new Promise((resolve) => child.once('close', (status) => resolve(status)));
    onTestFinished(async () => {
      child.kill('SIGINT');
      await this.ended;
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  /** Resolves as soon as the demo has printed the text. */
  async printed(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      await new Promise<void>((resolve, reject) => {
        this.#child.stdout?.once('data', () => resolve());
        void this.ended.then(() => reject(new Error(`not printed: ${text}\n${this.output}`)));
      });
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  /** Counts the lines of the table with this event. */
  count(event: string): number {
    return this.output.split('\n').filter((line) => /^\d\d:/.test(line) && line.includes(event))
      .length;
  }

  /** The remaining directories of the demo. */
  get leftDirectories(): string[] {
    return readdirSync(this.directory);
  }

  /** Process id and command of every process in the demo's directory. */
  get processes(): { readonly pid: number; readonly command: string }[] {
    return execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(this.directory))
      .map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
  }
}

function linesInTerminal(columns: number): string[] {
  const command = `stty cols ${columns}; exec '${process.execPath}' --input-type=module -e "$SHOWN"`;
  const env = { PATH: process.env['PATH'], TERM: 'xterm', SHOWN };
  const output = execFileSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' });
  return stripVTControlCharacters(output).trimEnd().split('\r\n');
}

function expectNothingLeft(demo: DemoRun): void {
  expect(demo.leftDirectories).toEqual([]);
  expect(demo.processes).toEqual([]);
}

// Concurrent, because they wait for alarms, which come every second or two.
describe.concurrent('npm run demo', () => {
  it('shows every alarm as published and as forwarded, with its custom data, and ends automatically', async (test) => {
    const demo = new DemoRun(test, ['--alarms', '9']);
    expect(await demo.ended).toBe(0);
    expect(demo.errors).toBe('');
    expect(demo.count('→ published')).toBe(9);
    expect(demo.count('← forwarded')).toBe(9);
    expect(demo.output).toContain('9 published, 9 forwarded, 0 lost');
    expect(demo.output).toContain('4 of 4 alarms arrived, in the order they were published');
    expect(demo.output.match(FORWARDED_WITH_CUSTOM_DATA)).toHaveLength(9);
    expect(demo.output).not.toContain(ESCAPE);
    expectNothingLeft(demo);
  });

  it('is coloured when colour is forced, and ignores the settings of a real gateway', async (test) => {
    const demo = new DemoRun(test, ['--alarms', '1'], {
      FORCE_COLOR: '1',
      GATEWAY_REDIS_URL: 'redis://127.0.0.1:1',
      GATEWAY_MQTT_PORT: '1',
    });
    expect(await demo.ended).toBe(0);
    expect(demo.output).toContain(ESCAPE);
    expectNothingLeft(demo);
  });

  it('prints a link to the board that signs in and a command that works, and ends on Ctrl-C with a summary', async (test) => {
    const demo = new DemoRun(test, []);
    await demo.printed('customData');
    const [command] = /mosquitto_sub(.*\\\n)+.*/.exec(demo.output) ?? [];
    const { stdout } = await run('sh', ['-c', `${command} -C 1 -W 10`]);
    expect(stdout).toMatch(/^care-homes\/\S+ \{.*"customData":\{/);

    const [link = ''] = /http:\/\/\S+#\/\?token=\S+/.exec(demo.output) ?? [];
    const page = await (await startBrowser()).newPage();
    test.onTestFinished(() => page.close());
    await page.goto(link);
    await page.getByRole('link', { name: 'Gateway' }).waitFor();
    await page
      .getByText(/Room 10\d/)
      .first()
      .waitFor();

    demo.interrupt();
    demo.interrupt();
    expect(await demo.ended).toBe(0);
    expect(demo.output).toMatch(/(\d+) published, \1 forwarded, 0 lost/);
    expectNothingLeft(demo);
  });

  it('ends on Ctrl-C while it is still starting', async (test) => {
    const demo = new DemoRun(test, []);
    await demo.printed('Starting');
    demo.interrupt();
    expect(await demo.ended).toBe(0);
    expect(demo.errors).toBe('');
    expectNothingLeft(demo);
  });

  it('prints the path of the log when the gateway fails, and leaves nothing running', async (test) => {
    const demo = new DemoRun(test, []);
    await demo.printed('← forwarded  ');
    const gateway = demo.processes.find(({ command }) => command.includes('--config'));
    if (gateway === undefined) throw new Error('no gateway is running');
    process.kill(gateway.pid, 'SIGKILL');
    expect(await demo.ended).toBe(1);
    expect(demo.errors).toContain('the gateway ended with SIGKILL');
    const [, log] = /log: (\S+)/.exec(demo.errors) ?? [];
    expect(log).toContain(demo.directory);
    expect(existsSync(log ?? '')).toBe(true);
    expect(demo.processes).toEqual([]);
  });

  it.for([['--what'], ['--alarms', '0'], ['--alarms', 'many']])(
    'rejects %s %s',
    async (args, test) => {
      const demo = new DemoRun(test, args);
      expect(await demo.ended).toBe(2);
      expect(demo.errors).toContain('usage: npm run demo');
      expect(demo.output).toBe('');
    },
  );

  it('prints its usage', async (test) => {
    const demo = new DemoRun(test, ['--help']);
    expect(await demo.ended).toBe(0);
    expect(demo.output).toContain('usage: npm run demo');
    expect(demo.errors).toBe('');
  });
});

describe('the table of the demo', () => {
  it.each([20, 99, 100])('prints no line that a terminal of %i columns would wrap', (width) => {
    const lines = linesInTerminal(width);
    expect(lines.map(({ length }) => length <= width)).toEqual([true, true, true]);
    expect(lines.map((line) => /^(time|\d\d:\d\d:\d\d) /.test(line))).toEqual(
      Array(3).fill(width >= 100),
    );
    expect(lines[1]).toContain('→ published');
  });

  it('prints as for an ordinary terminal when the terminal does not know its width', () => {
    expect(linesInTerminal(0)).toEqual(linesInTerminal(80));
  });
});
