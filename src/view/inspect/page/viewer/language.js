// The page's language. A text is known by its English, or by its name in names.js. The page
// holds {language: {English: translation}} for every language that headwise has.
{
  const tables = {en: {}, ...JSON.parse(document.getElementById('words').textContent)};

  function language() {
    return headwise.state.get().lang || headwise.file.lang || 'en';
  }

  // A text whose translation depends on where it stands has a word for that before "|".
  function text(table, id, values) {
    const english = headwise.names[id] || id;
    return (table[english] || english.replace(/^\w+\|/, ''))
        .replace(/\{(\d)\}/g, (_, n) => String(values[n]));
  }

  headwise.t = (id, ...values) => text(tables[language()] || tables.en, id, values);

  // With the languages' own names: [language, name].
  const languages = () => Object.entries(tables).map(
      ([name, table]) => [name, text(table, 'English', [])]);
  // The text in every language: which one to use may not be known yet.
  const inEach = id => Object.values(tables).map(table => text(table, id, []));

  headwise.words = {tables, language, languages, inEach};
}
