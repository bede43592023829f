import { describe, expect, test } from 'vitest';
import { createLog } from '../../../src/logging/log.js';
import { parseClusterNodes } from '../../../src/store/pair/cluster-source.js';
import { type Claim, PrimaryWatch } from '../../../src/store/pair/primary-watch.js';

const log = createLog({ level: 'silent', destination: { write: () => undefined } });
const ASKED = { host: '10.0.0.9', port: 7 };

function claim(host: string, epoch: number): Claim {
  return { primary: { host, port: 6379 }, epoch };
}

/** A watch over Sentinels with these answers, one list for each round. */
function watchOf(...rounds: readonly (readonly (Claim | string)[])[]): PrimaryWatch {
  const left = [...rounds];
  const ask = () =>
    (left.shift() ?? []).map((answer) =>
      typeof answer === 'string' ? Promise.reject(new Error(answer)) : Promise.resolve(answer),
    );
  return new PrimaryWatch({ name: 'nobody knows', ask, stop: () => undefined }, log);
}

describe('the current primary', () => {
  test('is named by the newest claim when few answer', async () => {
    const watch = watchOf([claim('old', 4), claim('new', 5), 'frozen']);
    expect(await watch.find()).toEqual({ host: 'new', port: 6379 });
  });

  test('is settled as soon as more than half agree', async () => {
    const never = new Promise<Claim>(() => undefined);
    const answers = [claim('new', 5), claim('new', 5)].map((each) => Promise.resolve(each));
    const ask = () => [never, ...answers];
    const watch = new PrimaryWatch({ name: 'nobody knows', ask, stop: () => undefined }, log);
    expect(await watch.find()).toEqual({ host: 'new', port: 6379 });
  });

  test('stays the same when only a node that was cut off answers, with an earlier primary', async () => {
    const watch = watchOf(
      [claim('new', 5), claim('new', 5), claim('old', 4)],
      [claim('old', 4), 'gone', 'gone'],
    );
    const moves: string[] = [];
    watch.onMove(({ host }) => moves.push(host));
    await watch.find();
    expect(await watch.find()).toEqual({ host: 'new', port: 6379 });
    expect(moves).toEqual([]);
  });

  test('changes when more than half restart their epochs', async () => {
    const watch = watchOf(
      [claim('one', 5), claim('one', 5), claim('one', 5)],
      [claim('two', 0), claim('two', 0), 'gone'],
    );
    const moves: string[] = [];
    watch.onMove(({ host }) => moves.push(host));
    await watch.find();
    await watch.find();
    expect([moves, watch.primary?.host]).toEqual([['two'], 'two']);
  });

  test('is unknown, with each reason once, when nobody answers', async () => {
    await expect(watchOf(['a: refused', 'b: refused', 'a: refused']).find()).rejects.toThrow(
      'nobody knows: a: refused; b: refused',
    );
    await expect(watchOf([]).find()).rejects.toThrow('nobody is left to ask');
  });
});

describe('CLUSTER NODES', () => {
  const TEXT = [
    'aa 10.0.0.1:7000@17000,one.test myself,master - 0 0 8 connected 0-10 12 [13-<-bb] [14->-cc]',
    'bb 10.0.0.2:7000@17000,,shard-id=ff slave aa 0 0 8 connected',
    'cc :7001@17001 master,fail - 0 0 3 disconnected 11',
    'dd :0@0 master,noaddr - 0 0 0 disconnected',
    'ee 10.0.0.5:7000@17000 handshake - 0 0 0 disconnected',
    'ff fd00::6:7000@17000 master - 0 0 5 connected 16-17',
    '',
  ].join('\n');

  test('is parsed into primaries with their slots, and replicas', () => {
    expect(parseClusterNodes(TEXT, ASKED, false)).toEqual([
      {
        primary: { host: '10.0.0.1', port: 7000 },
        epoch: 8,
        isPrimary: true,
        slots: [
          [0, 10],
          [12, 12],
        ],
      },
      { primary: { host: '10.0.0.2', port: 7000 }, epoch: 8, isPrimary: false, slots: [] },
      { primary: { host: '10.0.0.9', port: 7001 }, epoch: 3, isPrimary: true, slots: [[11, 11]] },
      { primary: { host: 'fd00::6', port: 7000 }, epoch: 5, isPrimary: true, slots: [[16, 17]] },
    ]);
  });

  test('names hosts as certificates do', () => {
    const hosts = parseClusterNodes(TEXT, ASKED, true).map(({ primary }) => primary.host);
    expect(hosts).toEqual(['one.test', '10.0.0.2', '10.0.0.9', 'fd00::6']);
  });
});
