/** The bad subscribers of `isolation` in their own process, so that they do not slow down the measurement. */
import { BAD_SUBSCRIBERS } from '../../test/harness/clients/bad-subscribers.js';

const [port = '', id = '', token = '', locationId = ''] = process.argv.slice(2);
for (const begin of BAD_SUBSCRIBERS.values()) {
  await begin({ mqttPort: Number(port) }, { id, token }, locationId);
}
process.send?.('begun');
