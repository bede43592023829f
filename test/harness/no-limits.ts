/** Variables for a gateway whose budgets slow nothing down: the test sees what else stops a flood. */
export const NO_LIMITS = Object.fromEntries(
  ['DEVICE', 'LOCATION', 'TOTAL'].flatMap((of) =>
    ['MESSAGES_PER_SECOND', 'MESSAGE_BURST', 'BYTES_PER_SECOND', 'BYTE_BURST']
      .concat(['ALARMS_PER_DAY', 'ALARM_BYTES_PER_DAY'])
      .map((name) => [`GATEWAY_LIMITS_${of}_${name}`, '1000000000000']),
  ),
);
