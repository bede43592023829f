/** The configuration of a webhook with this name; nothing is delivered to it. */
export function anOutput(name: string): { readonly GATEWAY_OUTPUTS: string } {
  const [url, secret, topics] = ['http://127.0.0.1:1/', 'a secret', ['care-homes/none']];
  const output = { name, type: 'webhook', url, secret, topics };
  return { GATEWAY_OUTPUTS: JSON.stringify([output]) };
}
