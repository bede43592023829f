// A `validatorUrl` would send the document's address to another host.
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  validatorUrl: null,
});
