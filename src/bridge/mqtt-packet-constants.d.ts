/** mqtt-packet 9 has no types for this; it is the part we use. */
declare module 'mqtt-packet/constants.js' {
  const constants: {
    /** What a PUBACK or PUBREC may say, in words, by reason code; anything else ends the connection. */
    readonly MQTT5_PUBACK_PUBREC_CODES: Record<number, string>;
  };
  export = constants;
}
