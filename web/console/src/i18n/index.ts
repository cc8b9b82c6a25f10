import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';

/** Loads the texts of a language, once, and makes it the language of the page. */
export async function loadLanguage(lang: 'zh' | 'en'): Promise<void> {
  if (!i18next.isInitialized) {
    await i18next.use(initReactI18next).init({
      lng: lang,
      fallbackLng: false,
      keySeparator: false,
      nsSeparator: false,
      resources: {},
      interpolation: { escapeValue: false }, // React escapes
      returnNull: false,
    });
  }
  await bringLanguage(lang);
  await i18next.changeLanguage(lang);
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
}

/** Loads the texts of a language, once, for what is written in a language that is not the page's. */
export async function bringLanguage(lang: 'zh' | 'en'): Promise<void> {
  if (i18next.hasResourceBundle(lang, 'translation')) return;
  const texts = lang === 'zh' ? (await import('./zh.ts')).default : (await import('./en.ts')).default;
  i18next.addResourceBundle(lang, 'translation', texts);
}
