import { languageChoice } from './language.js';
import { live } from './live.js';
import { goTo, mayLeave, place, replacePlace } from './place.js';
import { session } from './session.js';
import { tabNote } from './shell.js';

const parts = {
  language: languageChoice,
  routing: { place, go: goTo, replace: replacePlace, mayLeave },
  session,
  live,
  tabNote,
};
export const useConsole = () => parts;
