/** Variables for a gateway whose budgets slow no device down: the test sees what else stops a flood. */
export const NO_LIMITS = Object.fromEntries(
  ['MESSAGES_PER_SECOND', 'MESSAGE_BURST', 'BYTES_PER_SECOND', 'BYTE_BURST']
    .concat(['ALARMS_PER_DAY', 'ALARM_BYTES_PER_DAY'])
    .map((name) => [`GATEWAY_LIMITS_DEVICE_${name}`, '1000000000000']),
);
