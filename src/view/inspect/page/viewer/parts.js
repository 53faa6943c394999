// The two sentences of a pair, A and B, and attention from one of them to the other.
{
  const PARTS = ['A', 'B'];
  const WAYS = ['AB', 'BA', 'AA', 'BB'];  // from the first to the second

  // The sentence whose tokens an axis shows: 0, 1, or null for both.
  function shown(page, name) {
    const {part} = headwise.state.get();
    if (!page.token_types || part === '') return null;
    return PARTS.indexOf(part[name === 'query' ? 0 : 1]);
  }

  const label = part => part === '' ? headwise.t('all') : part.split('').join(' \u2192 ');

  function tools() {
    const {t, page} = headwise;
    return page.token_types ? headwise.chooser('part', t('Attention'),
        ['', ...WAYS].map(part => [part, label(part)]), {title: t('part.about')}) : null;
  }

  // Statistics are those of whole queries, whatever part is shown.
  const note = () => headwise.page.token_types && headwise.state.get().part !== '' ?
    headwise.t('The statistics still cover all tokens of both sentences.') + ' ' : null;

  headwise.parts = {WAYS, shown, tools, note};
}
