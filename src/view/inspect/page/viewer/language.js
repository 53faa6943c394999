// The page's language: words.LANGUAGE.js adds its table to wordTables, with the same keys
// as every other table. t('key', ...) is the text in the chosen language; a missing key is
// shown itself.
{
  headwise.wordTables = {};

  function language() {
    return headwise.state.get().lang || headwise.file.lang || 'en';
  }

  headwise.t = (key, ...values) => {
    const table = headwise.wordTables[language()] || headwise.wordTables.en;
    return (table[key] || key).replace(/\{(\d)\}/g, (_, n) => String(values[n]));
  };

  // With the languages' own names: [language, name].
  const languages = () => Object.entries(headwise.wordTables).map(
      ([name, table]) => [name, table['language.name']]);

  headwise.words = {language, languages};
}
