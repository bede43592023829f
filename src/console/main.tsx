import './ui/styles.css';
import { render } from 'preact';
import { App } from './app.js';
import { themeChoice } from './kept.js';
import { restoreLanguage } from './language.js';
import { followAddress } from './place.js';
import { session } from './session.js';

const element = document.getElementById('console');
if (element !== null) {
  restoreLanguage();
  themeChoice.restore((theme) => {
    document.documentElement.dataset['theme'] = theme;
  });
  followAddress();
  session.start();
  render(<App />, element);
}
