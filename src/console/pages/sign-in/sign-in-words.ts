import { dictionary } from '../../words/language.js';

export const SIGN_IN_WORDS = dictionary({
  en: {
    title: 'Sign in',
    token: 'Access token',
    keep: 'Stay signed in on this device',
    submit: 'Sign in',
    hint: 'An administrator makes access tokens. The administrator’s own is in the file admin.token of the gateway’s data directory.',
    refused: 'The gateway does not know this token, or it has ended.',
    pending: 'Signing in …',
    retried: 'This is tried again every few seconds.',
    other: 'Sign in with another token',
    dark: 'New alarms do not appear here: this screen is not signed in.',
  },
  de: {
    title: 'Anmelden',
    token: 'Zugangstoken',
    keep: 'Auf diesem Gerät angemeldet bleiben',
    submit: 'Anmelden',
    hint: 'Zugangstokens vergibt die Verwaltung. Der Token der Verwaltung steht in der Datei admin.token im Datenverzeichnis des Gateways.',
    refused: 'Das Gateway kennt diesen Token nicht, oder er ist abgelaufen.',
    pending: 'Anmeldung läuft …',
    retried: 'Es wird alle paar Sekunden noch einmal versucht.',
    other: 'Mit einem anderen Token anmelden',
    dark: 'Neue Alarme erscheinen hier nicht: Dieser Bildschirm ist nicht angemeldet.',
  },
});
