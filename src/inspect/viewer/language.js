// t('key', ...): a word in the language chosen. A word that is missing shows its
// key; a test looks that none is.
{
  const LANGUAGES = ['en', 'ko'];

  function language() {
    return headwise.state.get().lang || headwise.page.lang || 'en';
  }

  headwise.t = (key, ...values) => {
    const found = headwise.wordTable[key];
    const words = found ? found[Math.max(0, LANGUAGES.indexOf(language()))] : key;
    return words.replace(/\{(\d)\}/g, (_, n) => String(values[n]));
  };
  headwise.words = {language};
}
