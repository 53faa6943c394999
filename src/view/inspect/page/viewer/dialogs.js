// Dialogs: export, token search and help. The browser keeps the focus inside and
// closes them with Escape.
{
  const {make, button} = headwise.dom;
  const MOST_FOUND = 50;

  function open(id, title, ...content) {
    const before = document.activeElement;
    const dialog = make('dialog', {id, 'aria-labelledby': id + '-title'},
        make('h2', {id: id + '-title'}, title), content,
        make('form', {method: 'dialog', class: 'close'},
            make('button', {id: id + '-close'}, headwise.t('Close'))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (before && before.isConnected) before.focus({preventScroll: true});
    });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
  }

  // ---- Export. ----

  function save(name, type, content) {
    const address = URL.createObjectURL(new Blob([content], {type}));
    make('a', {href: address, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  const nameOfHead = ({layer, number}) => `layer-${layer}-head-${number}`;

  // What is compared with the head in view: "and-without-3.1", "and-layer-1-head-3".
  function compared(one, other) {
    const {documents} = headwise;
    return ['and', other.document !== one.document &&
        documents.fileNameBeside(other.document, one.document),
    other.id !== one.id && nameOfHead(other)];
  }

  // Of means over the texts: "means", and those of a pair of models "tuned-means".
  function means(number) {
    const {documents} = headwise;
    const other = documents.partner(number);
    return [other !== null && documents.fileNameBeside(number, other), 'means']
        .filter(Boolean).join('-');
  }

  function fileName(extension) {
    const {state, documents} = headwise;
    const {view, document: number, average} = state.get();
    const [head, other] = [state.head(), state.compared()];
    const text = documents.several &&
        (view === 'scatter' && average ? means(number) : documents.fileName(number));
    const parts =
        view === 'head' ? [text, nameOfHead(head), ...(other ? compared(head, other) : [])] :
        view === 'texts' ? [nameOfHead(head), 'texts'] :
        view === 'changes' ? ['changes', documents.fileNameBeside(0, 1), 'minus',
          documents.fileNameBeside(1, 0)] : [text, view];
    return ['headwise', ...parts].filter(Boolean).join('-') + '.' + extension;
  }

  const KINDS = [
    ['png', 'image/png', () => headwise.picture.png()],
    ['svg', 'image/svg+xml', () => headwise.picture.svg()],
    ['csv', 'text/csv', () => headwise.fileData.csv()],
    ['json', 'application/json', () => headwise.fileData.json()],
  ];

  function exporting() {
    const {t} = headwise;
    const status = make('p', {role: 'status', class: 'note'});
    const saveAs = async ([extension, type, content]) => {
      try {
        const made = await content();
        if (made !== null) save(fileName(extension), type, made);
        status.textContent = made !== null ? t('Saved {0}.', fileName(extension)) :
            headwise.state.get().table ? t('export.no_picture', t('Show as tables')) :
            t('This view is a table, which cannot be saved as a picture. Use CSV or JSON.');
      } catch (error) {
        status.textContent = headwise.failure.text(error);
      }
    };
    open('export', t('Export this view'), make('p', {}, t('export.about')),
        headwise.state.get().view === 'head' &&
          make('p', {class: 'note'}, headwise.measure.word('export.digits')),
        make('div', {class: 'tools'}, KINDS.map(kind => button(
            'export-' + kind[0], kind[0].toUpperCase(), () => saveAs(kind)))), status);
  }

  // ---- Search. ----

  function find(text) {
    const wanted = text.toLowerCase();
    const found = [];
    for (const name of ['query', 'key']) {
      headwise.page[name + '_tokens'].forEach((token, index) => {
        if (found.length > MOST_FOUND) return;
        if (token.toLowerCase().includes(wanted) || String(index) === wanted) {
          found.push({name, index, token});
        }
      });
    }
    return found;
  }

  function goTo({name, index}, dialog) {
    const now = headwise.pick.active() ||
        {query: headwise.axes.queries().at(0), key: headwise.axes.keys().at(0)};
    const pair = {query: now.query, key: now.key, [name]: index};
    dialog.close();
    headwise.state.set({view: 'head', query: pair.query, key: pair.key,
                        ...(headwise.zoom.follow(pair) || {})});
    headwise.pick.forget();
    headwise.pick.tell();
  }

  function search() {
    const {t, tokens} = headwise;
    const list = make('ul', {class: 'found'});
    const status = make('p', {role: 'status', class: 'note'});
    let dialog = null;
    let found = [];
    function show(text) {
      found = text === '' ? [] : find(text);
      status.textContent = text === '' ? '' : found.length > MOST_FOUND ?
          t('search.many', MOST_FOUND) : t('{0} found.', found.length);
      headwise.dom.put(list, found.slice(0, MOST_FOUND).map(one => make('li', {},
          make('button', {type: 'button', onclick: () => goTo(one, dialog)},
              t('axis.' + one.name) + ' ' + one.index + ' ', tokens.node(one.token)))));
    }
    const input = make('input', {
      id: 'search-text', type: 'search', autocomplete: 'off', spellcheck: 'false',
      oninput: event => show(event.target.value),
      onkeydown: event => {
        if (event.key !== 'Enter' || found.length === 0) return;
        event.preventDefault();
        goTo(found[0], dialog);
      },
    });
    dialog = open('search', t('Find a token'),
        make('label', {for: 'search-text'}, t('Text or position of a token')), input, status, list);
    input.focus();
  }

  // ---- Help. ----

  const KEYS = [
    ['\u2190 \u2191 \u2192 \u2193', 'keys.cell'], ['Home End PgUp PgDn', 'keys.far'],
    ['Enter', 'keys.pin'], ['[ ]', 'keys.layer'], ['h l', 'keys.head'],
    ['+ \u2212', 'keys.zoom'], ['/', 'keys.search'], ['g', 'keys.grid'],
    ['x', 'keys.scatter'], ...(headwise.changes.any ? [['m', 'keys.changes']] : []),
    ['r', 'keys.through'], ['s', 'keys.trace'],
    ['n p', 'keys.document'], ['d', 'keys.texts'], ['t', 'keys.table'],
    ['c', 'keys.compare'], ['v', 'keys.measure'], ['e', 'keys.export'],
    ['?', 'keys.help'], ['Esc', 'keys.escape']];

  const OF_SEVERAL = new Set(['keys.document', 'keys.texts']);  // documents

  // Where the numbers come from, and how exact they are.
  function coding() {
    const {t, page: {coding: {error}}, numbers, heads} = headwise;
    const maps = heads.kept.filter(head => head.map !== null);
    const [given] = maps.filter(head => head.top.block !== null);
    const stored = heads.kept.length === 0 || maps.length > 0;
    return [t('shell.coding_' + (stored ? 'maps' : 'tiles')),
      error > 0 && t('shell.error', numbers.bound(error)),
      given && t('shell.given', given.top.count)].filter(Boolean).join(' ');
  }

  function help() {
    const {t, page, state, documents} = headwise;
    const offered = ([, what]) => (documents.several || !OF_SEVERAL.has(what)) &&
        (what !== 'keys.through' || headwise.through.names(page).length > 0) &&
        (what !== 'keys.measure' || headwise.measure.common(state.documents()).length > 1);
    const row = ([keys, what]) => make('tr', {},
        make('th', {scope: 'row'}, keys.split(' ').map(key => [make('kbd', {}, key), ' '])),
        make('td', {}, t(what)));
    open('help', t('How to read this page'),
        make('p', {}, t('axis.sentence'), ' ', t('help.colours')),
        make('h3', {}, t('Keyboard shortcuts')),
        make('table', {}, make('caption', {class: 'hidden'}, t('Keyboard shortcuts')),
            make('tbody', {}, KEYS.filter(offered).map(row))),
        headwise.dom.toggle({id: 'shortcuts'}, state.get().shortcuts, t('help.shortcuts'),
            event => {
              state.set({shortcuts: !state.get().shortcuts});
              event.target.setAttribute('aria-pressed', String(state.get().shortcuts));
            }),
        make('h3', {}, t('Statistics')),
        make('dl', {class: 'explained'}, page.statistics.map(({name}) => [
          make('dt', {}, t('statistic.' + name)), make('dd', {}, t('about.' + name))])),
        make('h3', {}, t('How exact the numbers are')), make('p', {}, coding()));
  }

  headwise.dialogs = {exporting, search, help};
}
