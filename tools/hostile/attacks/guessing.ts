import type { Attack } from '../attack.js';
import type { Field } from '../attacker/field.js';
import { MqttSocket } from '../mqtt-socket.js';
import { asClient, type Site } from '../site.js';

const GUESSES_BETWEEN = 9;
const MAX_GUESSES_PER_SECOND = 5;
const MANY_ADDRESSES = 200;

/** Guesses passwords for the victims' newcomer, who must still get in meanwhile. */
async function guess(field: Field, index: number): Promise<void> {
  const target = { username: field.text('target'), password: crypto.randomUUID() };
  const mqtt = new MqttSocket(field.endpoint('mqtt', index));
  const code = await mqtt.logIn({ ...target, clientId: `guess-${index}` });
  if (code < 0) {
    field.count('without an answer');
    await field.pause(100);
    return;
  }
  field.count('guesses');
}

async function arm(site: Site, devices: number) {
  const arms = await site.arms(devices);
  return { ...arms, texts: { target: site.newcomer().username } };
}

function tooMany(_site: Site, counts: Readonly<Record<string, number>>, seconds: number) {
  const perSecond = (counts['guesses'] ?? 0) / seconds;
  const isTooMany = perSecond > MAX_GUESSES_PER_SECOND;
  return Promise.resolve(isTooMany ? `${perSecond.toFixed(1)} guesses a second` : undefined);
}

const guessing: Attack = {
  name: 'guessing',
  finding: 'S12',
  surface: 'mqtt',
  what: "the password of another home's device is guessed over 20 connections at a time, with a valid login of one's own after each ninth guess",
  isForMosquitto: false,
  arm: (site) => arm(site, 1),
  run: (field) =>
    field.repeat(20, async (index) => {
      for (let n = 0; n < GUESSES_BETWEEN; n++) await guess(field, index);
      const [own] = field.arms.devices;
      if (own === undefined) return;
      const login = asClient(own, `${own.username}-${index}`);
      const mqtt = await MqttSocket.connect(field.endpoint('mqtt', index), login);
      field.count(mqtt === undefined ? 'own login refused' : 'own logins');
      mqtt?.wire.cut();
    }),
  harm: tooMany,
};

const distributed: Attack = {
  name: 'guessing-200-addresses',
  finding: 'S12',
  surface: 'mqtt',
  what: "the password of another home's device is guessed from 200 addresses",
  isForMosquitto: false,
  addresses: MANY_ADDRESSES,
  arm: (site) => arm(site, 0),
  run: (field) => field.repeat(MANY_ADDRESSES, (index) => guess(field, index)),
  harm: tooMany,
};

export const GUESSING: readonly Attack[] = [guessing, distributed];
