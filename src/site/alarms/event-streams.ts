import type { Principal } from '../../domain/grants.js';

/** A forwarded message on its way into an event stream. */
export interface StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retained: boolean;
  /** Where an alarm stands in the log; undefined for all else. */
  readonly position: string | undefined;
  /** What `EventSubscription.taken` acknowledges; 0: nothing. */
  readonly messageId: number;
}

/** Who takes the messages of a subscription: an event stream. */
export interface StreamOutlet {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /**
   * Called once, before all messages.
   *
   * @param hasMissed whether alarms that followed the wanted position are not sent
   */
  opened(position: string, hasMissed: boolean): void;
  send(message: StreamMessage): void;
  /** Ends the stream: no message follows. */
  end(): void;
}

/** Who asks for events, and for which. */
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
  /** Sends on: the outlet is writable again. */
  wake(): void;
  /** Names the client, which leaves its messages unread. */
  unread(): void;
  /** Sends no more: the stream has ended. */
  close(): void;
}

/** Subscriptions of forwarded messages for clients that speak no MQTT. */
export interface EventStreams {
  /** @throws GatewayError `too-many-requests`, `not-ready` */
  open(request: StreamRequest, outlet: StreamOutlet): EventSubscription;
}
