import { dictionary } from '../../../words/language.js';

export const WEBHOOKS_WORDS = dictionary({
  en: {
    webhooks: 'Webhooks',
    hint: 'Webhooks are configured in the gateway’s file, under outputs.',
    none: 'No webhooks are configured.',
    name: 'Webhook',
    states: { delivering: 'delivering', failing: 'failing', refusing: 'refuses alarms' },
  },
  de: {
    webhooks: 'Webhooks',
    hint: 'Webhooks werden in der Datei des Gateways eingerichtet, unter outputs.',
    none: 'Es sind keine Webhooks eingerichtet.',
    name: 'Webhook',
    states: { delivering: 'stellt zu', failing: 'gestört', refusing: 'weist Alarme ab' },
  },
});
