import type { Principal } from '../../domain/grants.js';

/** A forwarded message on its way into an event stream. */
export interface StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retained: boolean;
  /** The position of an alarm in the log; undefined for anything else. */
  readonly position: string | undefined;
  /** What `EventSubscription.taken` acknowledges; 0: nothing. */
  readonly messageId: number;
}

/** The receiver of a subscription's messages: an event stream. */
export interface StreamOutlet {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /**
   * Called once, before all messages.
   *
   * @param hasMissed whether alarms after the requested position are not sent
   */
  opened(position: string, hasMissed: boolean): void;
  send(message: StreamMessage): void;
  /** Ends the stream: no message follows. */
  end(): void;
}

/** A request for events: the caller, and which events. */
export interface StreamRequest {
  readonly principal: Principal;
  readonly address: string;
  readonly filters: readonly string[];
  /** The position of the last alarm that the client has; undefined: it has none. */
  readonly after: string | undefined;
}

/** The subscription of one event stream. */
export interface EventSubscription {
  /** Acknowledges messages that the network has taken. */
  taken(messages: readonly StreamMessage[]): void;
  /** Continues to send: the outlet is writable again. */
  wake(): void;
  /** Names the client, because it leaves its messages unread. */
  unread(): void;
  /** Stops sending: the stream has ended. */
  close(): void;
}

/** Subscriptions to forwarded messages for clients that do not speak MQTT. */
export interface EventStreams {
  /** @throws GatewayError `too-many-requests`, `not-ready` */
  open(request: StreamRequest, outlet: StreamOutlet): EventSubscription;
}
