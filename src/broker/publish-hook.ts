import { setTimeout as delay } from 'node:timers/promises';
import type { Client, PublishPacket } from 'aedes';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions.js';
import type { Principal } from '../domain/grants.js';
import { permits } from '../domain/grants.js';
import { parsePublishTopic } from '../domain/topics.js';
import type { Commands } from '../ingest/commands.js';
import type { DevicePublishes } from '../ingest/device-publishes.js';
import type { Presence } from '../ingest/presence.js';
import type { SiteModel } from '../site/site-model.js';
import type { Acknowledgement } from './client-receiver.js';
import type { Connection } from './connection.js';
import type { IncomingReceipts } from './incoming-receipts.js';
import { memoryOf } from './intake.js';
import { mayPublish } from './publish-rights.js';
import type { ReadGate } from './read-gate.js';
import type { RefusalReport } from './refusal-report.js';

export interface PublishHookOptions {
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly presence: Presence;
  readonly model: SiteModel;
  readonly connectionOf: (client: Client) => Connection | undefined;
  readonly gateOf: (client: Client) => ReadGate | undefined;
  readonly receipts: IncomingReceipts;
  readonly sessions: Sessions;
  /** Whether it is a will that was stored by an earlier run of the gateway. */
  readonly isLeftWill: (packet: PublishPacket) => boolean;
  readonly refusals: RefusalReport;
  readonly log: Logger;
}

const RETRY_AFTER_MS = 250;

type Done = (error?: Error | null) => void;

/** Ends the connection like a publish that could not be stored, and is no fault of the store. */
class RefusedPublish extends Error {}

/**
 * Takes every publish out of Aedes' hands, into the message path. The acknowledgement is ours: at
 * QoS 1 Aedes would send it before anything is stored (DEPENDENCY-FAULTS 2), and at either QoS would
 * read nothing more from a device, not even its pings, while the store is slow. So Aedes sees a QoS 0
 * publish that matches no subscription, and PUBACK or PUBREC follows from
 * `Connection.acknowledgeWhen`.
 */
export class PublishHook {
  readonly #options: PublishHookOptions;

  constructor(options: PublishHookOptions) {
    this.#options = options;
  }

  /** Aedes' `authorizePublish`; an error closes the connection. */
  authorize(client: Client | null, packet: PublishPacket, done: Done): void {
    if (client === null || this.#options.isLeftWill(packet)) {
      this.#acceptLeftWill(packet, done);
      return;
    }
    const connection = this.#options.connectionOf(client);
    if (connection === undefined) {
      done(new Error('publish of nobody'));
      return;
    }
    if (!mayPublish(connection.principal, packet.topic)) {
      this.#endRefused(client, connection, packet);
      return;
    }
    if (connection.isCredentialEnded) {
      done(new Error('publish after the credential has ended'));
      return;
    }
    if (!this.#isKept(connection, packet)) {
      this.#turnAway(connection, packet);
    } else if (packet.qos === 2 && !connection.holds(packet.messageId)) {
      done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    } else {
      const stored = this.#accept(connection, { ...packet });
      const bytes = memoryOf(packet.payload.length);
      connection.acknowledgeWhen(stored, acknowledgementOf(packet), bytes);
    }
    packet.retain = false;
    packet.qos = 0;
    this.#checkPace(client, connection, isOfAlarm(packet.topic));
    done();
  }

  /**
   * A publish outside the own topics. Aedes is told nothing more of it: it must not see it, for what is
   * under `$SYS/` it would do (DEPENDENCY-FAULTS 13). The connection ends once the refusal is written
   * down; whatever else the client sends until then, an alarm, does not wait for the store.
   */
  #endRefused(client: Client, connection: Connection, packet: PublishPacket): void {
    const refused = this.#refuse(connection, packet, 'publish outside the own topics');
    const bytes = memoryOf(packet.payload.length);
    connection.acknowledgeWhen(refused, acknowledgementOf(packet), bytes);
    this.#checkPace(client, connection, false);
    this.#readOn(client);
  }

  /** A PUBREL waits for the store: a device must not be left unread for that, nor its pings. */
  releasing(client: Client, answer: Promise<unknown>): void {
    const connection = this.#options.connectionOf(client);
    if (connection === undefined) return;
    connection.waitsFor(answer, memoryOf(0));
    // However many releases it owes, it does not send thousands that are not answered.
    if (!connection.pace.keeps(true)) client.close();
    this.#checkPace(client, connection, false);
    this.#readOn(client);
  }

  /** Not at once: Aedes is in the middle of parsing what it has read. */
  #readOn(client: Client): void {
    setImmediate(() => this.#options.gateOf(client)?.readOn());
  }

  #checkPace(client: Client, { pace }: Connection, isAlarm: boolean): void {
    const gate = this.#options.gateOf(client);
    if (gate !== undefined) pace.check(gate, isAlarm);
  }

  /** What is sent on at once, and not stored, needs no room. */
  #isKept(connection: Connection, { topic, qos, retain }: PublishPacket): boolean {
    const isAlarm = isOfAlarm(topic);
    return (qos === 0 && !retain && !isAlarm) || connection.keeps(isAlarm, qos);
  }

  /** It finds no room. A value at QoS 0 reaches whoever is connected all the same. */
  #turnAway(connection: Connection, packet: PublishPacket): void {
    const { topic, qos } = packet;
    const isAlarm = isOfAlarm(topic);
    connection.turnAway(isAlarm, qos);
    if (connection.principal.type === 'device')
      this.#options.presence.heardOf(connection.principal.id);
    if (qos > 0 || isAlarm) return;
    this.#accept(connection, { ...packet, retain: false }).catch(() => connection.client.close());
  }

  /** @returns whether it is the store that has taken it */
  async #accept(connection: Connection, packet: PublishPacket): Promise<boolean> {
    const { principal, client } = connection;
    const { receipts } = this.#options;
    const isRepeated = receipts.isRepeated(client, packet);
    try {
      let isStored = true;
      if (principal.type === 'device') {
        isStored = await this.#acceptFromDevice(principal.id, packet, isRepeated);
      } else if (!(await isRepeated)) {
        isStored = await this.#acceptCommand(connection, principal, packet);
      }
      await this.#keepReceipt(connection, packet);
      return isStored;
    } catch (error) {
      if (!(error instanceof RefusedPublish)) {
        this.#options.log.error({ err: error, clientId: client.id }, 'publish not stored');
      }
      throw error;
    }
  }

  /**
   * Of a session that has ended meanwhile nothing may stay: the next one uses the same packet
   * identifiers, and what it publishes would be taken for a repetition. A store that is full takes it
   * later; nobody is disconnected for that.
   */
  async #keepReceipt({ client, destination }: Connection, packet: PublishPacket): Promise<void> {
    const { receipts, sessions, log } = this.#options;
    while (sessions.get(client.id) === destination) {
      try {
        await receipts.keep(client, packet);
        return;
      } catch (error) {
        if (client.closed) throw error;
        log.warn({ err: error, clientId: client.id }, 'receipt not stored, trying again');
        await delay(RETRY_AFTER_MS);
      }
    }
  }

  async #acceptFromDevice(
    deviceId: string,
    packet: PublishPacket,
    isRepeated: Promise<boolean>,
  ): Promise<boolean> {
    this.#options.presence.heardOf(deviceId);
    const { messageId, dup, topic, qos, retain } = packet;
    const payload = Buffer.from(packet.payload);
    return this.#options.publishes.accept({
      deviceId,
      topic,
      payload,
      qos,
      retain,
      packet: messageId === undefined ? undefined : { identifier: messageId, sentAgain: dup },
      isRepeated,
    });
  }

  async #acceptCommand(
    connection: Connection,
    principal: Extract<Principal, { type: 'token' }>,
    packet: PublishPacket,
  ): Promise<boolean> {
    const target = parsePublishTopic(packet.topic);
    if (target.type !== 'command') return false;
    const context = this.#options.model.context(target.deviceId);
    const groupId = context?.group?.id;
    if (!permits(principal.grants, 'manager', { locationId: target.locationId, groupId })) {
      await this.#refuse(connection, packet, 'command without a manager grant');
    }
    const { qos, retain } = packet;
    return this.#options.commands.accept({
      locationIds: [target.locationId],
      deviceId: target.deviceId,
      rest: target.rest,
      payload: Buffer.from(packet.payload),
      qos,
      retain,
    });
  }

  /** @throws RefusedPublish once it is written down, or cannot be */
  async #refuse(
    { peer, owner }: Connection,
    { topic }: PublishPacket,
    reason: string,
  ): Promise<never> {
    const { refusals, log } = this.#options;
    try {
      await refusals.permission(peer, 'publish', topic);
    } catch (error) {
      // It is logged or counted there.
      throw new RefusedPublish(reason, { cause: error });
    }
    log.info({ clientId: peer.clientId, principal: owner, topic, reason }, 'publish refused');
    throw new RefusedPublish(reason);
  }

  /**
   * The will of a client that was connected when the gateway was killed. A hint only: it is passed
   * on unless the device is back (DEPENDENCY-FAULTS 11). Its topic was checked at CONNECT.
   */
  #acceptLeftWill(will: PublishPacket, done: Done): void {
    const target = parsePublishTopic(will.topic);
    const isDevice = target.type === 'alarm' || target.type === 'message';
    const { presence, log } = this.#options;
    if (isDevice && !presence.of(target.deviceId).online) {
      this.#acceptFromDevice(target.deviceId, will, Promise.resolve(false)).catch(
        (error: unknown) => {
          log.warn({ err: error, deviceId: target.deviceId }, 'will not stored');
        },
      );
    }
    done();
  }
}

function isOfAlarm(topic: string): boolean {
  return parsePublishTopic(topic).type === 'alarm';
}

/** What acknowledges the publish (MQTT 3.1.1, 4.3); nothing does at QoS 0, nor a will. */
function acknowledgementOf({ qos, messageId }: PublishPacket): Acknowledgement | undefined {
  if (qos === 0 || messageId === undefined) return undefined;
  return { cmd: qos === 1 ? 'puback' : 'pubrec', messageId };
}
