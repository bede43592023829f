import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { untilBridge } from '../bridge-api.js';
import { bridgeThrough, bridgeTo, reconciled, useWorld } from '../world.js';

const world = useWorld();

const ADDRESS = 'IP:127.0.0.1';
const TLS_FAILURE = { connected: false, lastError: { kind: 'tls' } };

it('over TLS, with a client certificate, an upstream that is killed misses nothing', async () => {
  const tls = { name: ADDRESS, requiresClientCertificate: true };
  const mosquitto = await world.mosquitto({ tls });
  const { authority } = mosquitto;
  const { certFile, keyFile } = await authority.client('gateway');
  const subscriber = await world.subscriber(mosquitto, {
    ca: await readFile(authority.certFile),
    cert: await readFile(certFile),
    key: await readFile(keyFile),
  });
  const keys = { caFile: authority.certFile, certFile, keyFile };
  const home = await world.home([bridgeTo(mosquitto, keys)]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) sensor.alarms(50);
  await subscriber.untilDistinct(50);
  await subscriber.caughtUp();
  await mosquitto.kill();
  for (const sensor of sensors) sensor.alarms(50);
  await untilBridge(home, 'region', { connected: false });
  await mosquitto.start();
  await reconciled(home, subscriber, sensors);
});

it('sends nothing to an upstream with a certificate of an untrusted authority', async () => {
  const foreign = await world.authority();
  const mosquitto = await world.mosquitto({ tls: { name: ADDRESS } });
  const proxy = await world.proxy(mosquitto);
  const wrong = { caFile: foreign.certFile };
  const home = await world.home([bridgeThrough(proxy, mosquitto, wrong)]);
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await untilBridge(home, 'region', TLS_FAILURE);
  await proxy.untilAttempts(2);
  const [first = 0, second = 0] = proxy.attemptsMs;
  expect(second - first).toBeGreaterThan(2_000);
  const said = home.gateway.lines.filter((line) => line.includes('"failure":"tls"'));
  expect(said, said.join('\n')).toHaveLength(1);
  expect(mosquitto.lines.join('\n')).not.toContain('New client connected');

  // Correcting the option while the gateway runs does not lose the backlog.
  const right = { caFile: mosquitto.authority.certFile };
  await home.gateway.configure({ bridges: [bridgeThrough(proxy, mosquitto, right)] });
  await home.gateway.reload();
  const ca = await readFile(mosquitto.authority.certFile);
  const subscriber = await world.subscriber(mosquitto, { ca });
  await reconciled(home, subscriber, [sensor]);
});

it('does not accept a certificate for another name, unless that name is expected', async () => {
  const mosquitto = await world.mosquitto({ tls: { name: 'DNS:broker.example' } });
  const caFile = mosquitto.authority.certFile;
  const subscriber = await world.subscriber(mosquitto, {
    ca: await readFile(caFile),
    servername: 'broker.example',
  });
  const home = await world.home([
    bridgeTo(mosquitto, { caFile, name: 'wrong', send: 'alarms' }),
    bridgeTo(mosquitto, { caFile, name: 'right', serverName: 'broker.example' }),
  ]);
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await reconciled(home, subscriber, [sensor], 'right');
  await untilBridge(home, 'wrong', { ...TLS_FAILURE, queued: 5 });
});

it('checks the certificate’s authority and name over WebSocket, too', async () => {
  const authority = await world.authority();
  const foreign = await world.authority();
  const upstream = await world.aedes(await authority.server('DNS:broker.example'));
  const url = upstream.webSocketUrl;
  expect(url).toMatch(/^wss:/);
  const subscriber = await world.subscriberAt(upstream.url);
  const { certFile: caFile } = authority;
  const alarms = { url, send: 'alarms' };
  const home = await world.home([
    bridgeTo(upstream, { ...alarms, name: 'wrong-name', caFile }),
    bridgeTo(upstream, {
      ...alarms,
      name: 'foreign',
      caFile: foreign.certFile,
      serverName: 'broker.example',
    }),
    bridgeTo(upstream, { ...alarms, name: 'right', caFile, serverName: 'broker.example' }),
  ]);
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await reconciled(home, subscriber, [sensor], 'right');
  for (const name of ['wrong-name', 'foreign']) {
    await untilBridge(home, name, { ...TLS_FAILURE, queued: 5 });
  }
});

it('reports a missing client certificate as a TLS failure', async () => {
  const tls = { name: ADDRESS, requiresClientCertificate: true };
  const mosquitto = await world.mosquitto({ tls });
  const home = await world.home([bridgeTo(mosquitto, { caFile: mosquitto.authority.certFile })]);
  await untilBridge(home, 'region', TLS_FAILURE);
});
