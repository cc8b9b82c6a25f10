import { createRoot } from 'react-dom/client';
import App from './app.tsx';
import { loadLanguage } from './i18n/index.ts';
import { getPrefs } from './lib/store.ts';
import './app.css';

const root = document.getElementById('root');
if (root) {
  const at = createRoot(root);
  void loadLanguage(getPrefs().lang).then(() => at.render(<App />));
}
