import { dictionary } from '../../../words/language.js';

export const WALL_LINK_WORDS = dictionary({
  en: {
    title: 'Link for a wall screen',
    hint: 'Makes an access token of its own and puts it into a link. Anyone with the link sees the board without signing in. To take the link back, revoke its token on the page Gateway.',
    name: 'Name of the screen',
    defaultName: 'Wall screen',
    home: 'Home',
    address: 'Address of the gateway, as the screen reaches it',
    loopback:
      'Under this address only this machine reaches the gateway. Give its address in the network of the screen.',
    all: 'All homes, also those to come',
    role: 'What it may do',
    roles: {
      viewer: 'Show alarms',
      responder: 'Show alarms, acknowledge and resolve them',
    },
    create: 'Make the link',
    once: 'Open this link on the screen. It is shown only now.',
    link: 'Link',
    code: 'The link as a QR code',
    done: 'Done',
    leave: 'The link is not shown again. Close it?',
  },
  de: {
    title: 'Link für einen Wandbildschirm',
    hint: 'Erstellt einen eigenen Zugangstoken und setzt ihn in einen Link. Wer den Link hat, sieht die Tafel ohne Anmeldung. Um ihn zurückzunehmen, widerrufen Sie seinen Token auf der Seite Gateway.',
    name: 'Name des Bildschirms',
    defaultName: 'Wandbildschirm',
    home: 'Heim',
    address: 'Adresse des Gateways, wie der Bildschirm es erreicht',
    loopback:
      'Unter dieser Adresse erreicht nur dieser Rechner das Gateway. Geben Sie seine Adresse im Netz des Bildschirms an.',
    all: 'Alle Heime, auch künftige',
    role: 'Was er darf',
    roles: {
      viewer: 'Alarme anzeigen',
      responder: 'Alarme anzeigen, quittieren und erledigen',
    },
    create: 'Link erstellen',
    once: 'Öffnen Sie diesen Link auf dem Bildschirm. Er wird nur jetzt angezeigt.',
    link: 'Link',
    code: 'Der Link als QR-Code',
    done: 'Fertig',
    leave: 'Der Link wird nicht noch einmal angezeigt. Schließen?',
  },
});
