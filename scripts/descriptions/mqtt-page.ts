import { html } from 'hono/html';
import { z } from 'zod';
import type { asyncApiDocument } from './asyncapi-document.js';

type AsyncApi = ReturnType<typeof asyncApiDocument>;
const schemaShape = z.looseObject({
  properties: z
    .record(z.string(), z.looseObject({ description: z.string().optional() }))
    .optional(),
});

type Html = ReturnType<typeof html>;

/** The page at `/docs/mqtt`, from the AsyncAPI document. */
export function mqttPage(document: AsyncApi): string {
  const { info, channels, operations } = document;
  const servers = Object.values(document.servers).map(({ protocol, variables, ...server }) => {
    const path = 'pathname' in server ? server.pathname : '';
    return html`<li><code>${protocol}://${variables.host.default}:${variables.port.default}${path}</code></li>\n`;
  });
  const sections = Object.entries(channels).map(([name, { address }]) => {
    const operation = Object.values(operations).find(({ channel }) =>
      channel.$ref.endsWith(`/${name}`),
    );
    const { qos, retain } = operation?.bindings.mqtt ?? {};
    const verb = operation?.action === 'receive' ? 'Publish' : 'Subscribe';
    return html`<h2 id="${name}"><code>${address}</code></h2>
<p>${operation?.summary}</p>
<p>${verb}. QoS ${qos}${retentionOf(retain)}.</p>
${messageOf(document, name)}
`;
  });
  const credentials = document.components.securitySchemes.credentials.description;
  return page(
    'Care-home gateway: the MQTT interface',
    html`<h1>The MQTT interface</h1>
<p>${info.description}</p>
<p>User name and password: ${credentials}</p>
<ul>
${servers}</ul>
<p>The same for programs: <a href="../asyncapi.json">asyncapi.json</a>. The HTTP side: <a href="../docs">docs</a>.</p>
${sections}`,
  );
}

function retentionOf(retain: boolean | undefined): string {
  if (retain === undefined) return '';
  return retain ? ', retained' : ', never retained';
}

/** An example of the channel's message, and the meaning of its fields. */
function messageOf({ components }: AsyncApi, name: string): Html {
  const message = components.messages[name];
  if (message?.examples === undefined) return html`<p>Any bytes.</p>`;
  const [example] = message.examples;
  const { properties = {} } = schemaShape.parse(components.schemas[example.name]);
  const fields = Object.entries(properties).flatMap(([field, { description }]) =>
    description === undefined
      ? []
      : [html`<tr><th><code>${field}</code></th><td>${description}</td></tr>\n`],
  );
  return html`<pre>${JSON.stringify(example.payload, null, 2)}</pre>
<table>
${fields}</table>`;
}

function page(title: string, content: Html): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="plain.css">
</head>
<body>
${content}
</body>
</html>
`);
}
