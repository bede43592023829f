/** mqtt-packet 9 has no types for this; it is the part we use. */
declare module 'mqtt-packet/constants.js' {
  const constants: {
    /** Reason codes of PUBACK and PUBREC, in words; any other code ends the connection. */
    readonly MQTT5_PUBACK_PUBREC_CODES: Record<number, string>;
  };
  export = constants;
}
