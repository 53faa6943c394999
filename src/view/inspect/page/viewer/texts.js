// One head in all documents: a thumbnail and its statistics for each.
{
  const {make} = headwise.dom;
  const LETTERS = 80;  // of a text

  const indexOf = ({heads}, {layer, number}) =>
      heads.findIndex(one => one[0] === layer && one[1] === number);

  // The mean of a statistic of a document's head; null if there is none.
  function value(one, index, name) {
    const found = one.pooled[name] && one.pooled[name][index];
    return found === undefined ? null : found;
  }

  // Those that have the head: [{one, number, index}].
  const having = head => headwise.documents.list.map((one, number) => (
    {one, number, index: indexOf(one, head)})).filter(({index}) => index >= 0);

  // The same in the chosen order.
  function ordered(head) {
    const {sort, descending} = headwise.state.get();
    const found = having(head);
    if (sort === '') return found;
    const sign = descending ? -1 : 1;
    const key = ({one, index}) => value(one, index, sort);
    return found.sort((a, b) => {
      const [left, right] = [key(a), key(b)];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (left - right);
    });
  }

  // [[name, items]]: those of either model or set of heads, or all of them without a name.
  function sides(list) {
    const {documents, tokens} = headwise;
    if (documents.partner(0) === null) return [['', list]];
    return [0, 1].map(side => [tokens.isolated(documents.beside(side, 1 - side)),
      list.filter(({number}) => number % 2 === side)]).filter(([, items]) => items.length > 0);
  }

  function meanOf(list, name) {
    const values = list.map(({one, index}) => value(one, index, name))
        .filter(found => found !== null);
    return values.length === 0 ? null :
        values.reduce((sum, found) => sum + found, 0) / values.length;
  }

  // ---- Thumbnails. ----

  // One document after the other, so that few are held at once.
  let queue = Promise.resolve();

  function thumbnail(canvas, {number}, {layer, number: head}, scale) {
    queue = queue.then(async () => {
      if (!canvas.isConnected) return null;
      const {heads} = await headwise.documents.visit(number);
      return headwise.grid.thumbnail(canvas, heads.find(layer, head), scale);
    }).catch(headwise.failure.tell);
    return queue;
  }

  function card(item, head, canvases, scale) {
    const {one, number} = item;
    const {t, state, documents, numbers, tokens} = headwise;
    const {sort, document: current} = state.get();
    const canvas = make('canvas', {'aria-hidden': 'true'});
    canvases.set(canvas, () => thumbnail(canvas, item, head, scale));
    const about = tokens.short(documents.about(one), LETTERS);
    const shown = sort || headwise.grid.telling(head);
    const found = value(one, item.index, shown);
    return make('button', {
      type: 'button', class: 'card', id: 'text-' + number, 'data-text': number,
      tabindex: number === current ? '0' : '-1',
      'aria-label': `${documents.name(number)}: ${about}, ${one.num_keys} ` +
          `${t('tokens')}, ${t('statistic.' + shown)} ${numbers.statistic(shown, found)}`,
      title: about, onclick: () => {
        headwise.documentTools.go(number);
        state.set({view: 'head'});
      },
    }, make('span', {class: 'thumbnail'}, canvas),
    make('span', {class: 'caption'},
        make('span', {class: 'caption-name'}, String(documents.numberOf(number))),
        make('span', {class: 'caption-value'}, numbers.statistic(shown, found))),
    make('span', {class: 'caption caption-text'}, tokens.node(about)));
  }

  // ---- The same as rows. ----

  const columns = () => headwise.page.statistics.map(({name}) => name);

  function table(head, list) {
    const {t, documents, numbers, tokens, documentTools, state} = headwise;
    const names = columns();
    const body = list.map(({one, number, index}) => [
      headwise.tables.link('text-row-' + number, number === state.get().document,
          () => documentTools.go(number), documents.numbering(number),
          tokens.node(tokens.short(documents.about(one), LETTERS))),
      String(one.num_keys), ...names.map(name => numbers.statistic(name, value(one, index, name)))]);
    return headwise.tables.table(t('texts.title', head.layer, head.number),
        [t('text'), t('tokens'), ...names.map(name => t('statistic.' + name))],
        body, sides(list).map(([side, items]) => [
          side ? `${t('mean over the texts')}, ${side}` : t('mean over the texts'), '',
          ...names.map(name => numbers.statistic(name, meanOf(items, name)))]), true);
  }

  // For files.
  function data() {
    const head = headwise.state.head();
    const names = columns();
    return {header: ['text', 'about', 'tokens', ...names],
            rows: ordered(head).map(({one, number, index}) => [
              headwise.documents.numberOf(number), headwise.documents.about(one), one.num_keys,
              ...names.map(name => value(one, index, name))])};
  }

  // ---- The view. ----

  // How many there are, and where the head is missing.
  function counts(list) {
    const {t, documents} = headwise;
    const gone = documents.list.length - list.length;
    const [[side, items]] = sides(list);
    return t('{0} texts.', items.length) + (gone === 0 ? '' :
      ' ' + (side ? t('Only {0} has this head.', side) : t('texts.missing', gone)));
  }

  // "0.998 (with all heads), 1.08 (without 3.1)"
  const meansText = (list, name) => sides(list).map(([side, items]) =>
      headwise.numbers.statistic(name, meanOf(items, name)) + (side ? ` (${side})` : '')).join(', ');

  function note(list) {
    const {t, page, state} = headwise;
    const shown = state.get().sort || headwise.grid.telling(state.head());
    return make('p', {class: 'note', id: 'texts-note'}, counts(list), ' ',
        page.statistics.some(({name}) => name === shown) && [
          headwise.parts.note(), t('Number below each text: {0}.', t('statistic.' + shown)), ' ',
          t('about.' + shown), ' ', t('Mean over the texts: {0}.', meansText(list, shown))]);
  }

  function view() {
    const {t, state, grid} = headwise;
    const head = state.head();
    const list = ordered(head);
    const canvases = new Map();
    const {node: legend, scale} = headwise.legend.ofTiles([], 'legend.drawn');
    const body = make('div', {class: 'cards cards-flow'},
        list.map(item => card(item, head, canvases, scale)));
    grid.moveByKeys(body);
    grid.drawWhenSeen(canvases);
    return make('section', {class: 'view', 'aria-labelledby': 'view-title'},
        make('h2', {id: 'view-title', tabindex: '-1'}, t('texts.title', head.layer, head.number)),
        headwise.headChoice(head),
        headwise.foldTools('fold-texts', t('Head and order'),
            headwise.sortTools(t('number')), headwise.measure.tools(),
            headwise.parts.tools(), headwise.poolChoice(), headwise.fitToggle(),
            headwise.ownToggle()),
        note(list), headwise.measure.note(),
        state.get().table ? table(head, list) : [legend, body]);
  }

  // The mean of a head's statistic over the documents that have it, those of its own model
  // and set of heads; null if none has.
  const mean = (head, name) => meanOf(sides(having(head)).find(
      ([, items]) => items.some(({number}) => number === head.document))[1], name);

  headwise.texts = {view, data, ordered, mean};
}
