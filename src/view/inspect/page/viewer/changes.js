// What differs between two models: their heads by how much they changed.
{
  const {make} = headwise.dom;

  const list = headwise.file.changes || [];
  const documents = headwise.documents.list;
  const name = ([layer, head]) => layer + '.' + head;
  const matched = list.some(({match}) => match);

  const digits = share => Math.min(1, Math.max(0, share)).toFixed(3);

  // How much a head changed, to sort by: the statistic's difference, or how far the maps are
  // from being equal, as far as the digits that are shown tell; null if that is not known.
  function change(one) {
    const {sort} = headwise.state.get();
    const [mean] = sort === '' ? one.similarity : one.differences[sort];
    if (mean === null) return null;
    return sort === '' ? 1 - Number(digits(mean)) : Math.abs(mean);
  }

  // Heads that changed as much as each other by their layers and numbers.
  function ordered() {
    const sign = headwise.state.get().descending ? -1 : 1;
    return [...list].sort((a, b) => {
      const [left, right] = [change(a), change(b)];
      if ((left === null) !== (right === null)) return (left === null) - (right === null);
      return sign * (left - right) || a.head[0] - b.head[0] || a.head[1] - b.head[1];
    });
  }

  // The head in the first model, compared with its counterpart in the second, in the text
  // that is in view.
  function open({head: [layer, head], other}) {
    const {state} = headwise;
    const document = state.get().document - state.get().document % 2;
    state.set({view: 'head', document, layer, head,
               compare: document + 1 + ':' + name(other)});
  }

  // Is the head one that is compared? Otherwise the keys start in the first row.
  function isOpen({head}) {
    const {layer, head: number, compare} = headwise.state.get();
    return compare !== '' && head[0] === layer && head[1] === number;
  }

  const names = () => headwise.statistics.ofHeads()
      .filter(one => list.some(({differences}) => one in differences));

  // With a star where the interval leaves out 0.
  function difference(name, [mean, low, high]) {
    if (mean === null) return headwise.numbers.text(null);
    const sure = low !== null && (low > 0 || high < 0);
    const text = headwise.numbers.statistic(name, mean);
    return (mean > 0 && text[0] !== '<' ? '+' : '') + text + (sure ? '*' : '');
  }

  // Of a similarity, which is from 0 to 1 whatever the interval's arithmetic says.
  function interval([mean, low, high]) {
    if (mean === null) return headwise.numbers.text(null);
    return digits(mean) + (low === null ? '' : ` [${digits(low)}, ${digits(high)}]`);
  }

  function table() {
    const {t} = headwise;
    return headwise.tables.table(t('Heads by how much they changed'),
        [t('head'), t('compared with'), ...(matched ? [t('match')] : []), t('similarity'),
          ...names().map(one => make('abbr', {title: t('about.' + one)}, t('statistic.' + one)))],
        ordered().map(one => [
          headwise.tables.link('change-' + one.head.join('-'), isOpen(one), () => open(one),
              t('head.name', ...one.head)),
          name(one.other), ...(matched ? [one.match ? name(one.match) : '\u2013'] : []),
          interval(one.similarity),
          ...names().map(statistic => difference(statistic, one.differences[statistic]))]), null, true);
  }

  // What is compared: two models, or one with all heads and without some.
  const sides = () => documents[0].model !== documents[1].model ?
      [documents[0].model, documents[1].model] :
      [headwise.documents.beside(0, 1), headwise.documents.beside(1, 0)];

  // The heads of either side that have no counterpart.
  const onlyIn = () => ['head', 'other'].map((key, side) => {
    const compared = new Set(list.map(one => name(one[key])));
    return documents[side].heads.filter(head => !compared.has(name(head)));
  });

  function differentTokens() {
    const firsts = documents.map((_, number) => number).filter(number => number % 2 === 0 &&
        documents[number].same_tokens !== documents[number + 1].same_tokens);
    return firsts.length > 0 && ' ' + headwise.t(
        'changes.tokens', firsts.length, documents.length / 2,
        headwise.documents.numberOf(firsts[0]));
  }

  function view() {
    const {t, tokens} = headwise;
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        make('h2', {id: 'view-title', tabindex: '-1'}, t('Heads by how much they changed')),
        headwise.foldTools('fold-changes', t('Order'),
            headwise.sortTools(t('similarity'), t('Most changed first'))),
        make('p', {class: 'note', id: 'changes-note'},
            t('changes.models', ...sides().map(tokens.isolated)), ' ', t('changes.about'),
            differentTokens()),
        table(), onlyIn().map((heads, side) => heads.length > 0 && make('p', {class: 'note'},
            t('changes.only', tokens.isolated(sides()[side]), heads.map(name).join(', ')))));
  }

  // For files.
  function data() {
    const statistics = names();
    const parts = ['', '_low', '_high'];
    const none = length => Array(length).fill(null);
    const numbers = 2 + parts.length * (1 + statistics.length);  // of a head, with its match
    const [left, right] = onlyIn();
    return {
      header: ['layer', 'head', 'other_layer', 'other_head', 'match_layer', 'match_head',
        ...['similarity', ...statistics].flatMap(one => parts.map(part => one + part))],
      rows: ordered().map(one => [...one.head, ...one.other, ...(one.match || [null, null]),
        ...one.similarity, ...statistics.flatMap(statistic => one.differences[statistic])])
          .concat(left.map(head => [...head, ...none(2 + numbers)]),
              right.map(head => [null, null, ...head, ...none(numbers)])),
    };
  }

  headwise.changes = {view, data, sides, any: list.length > 0};
}
