// The frame around the views: title, navigation, settings, footer and live region. Decides
// what is drawn again, and when.
{
  const {make, button} = headwise.dom;
  const PAIR = new Set(['query', 'key']);
  const NOT_DRAWN = new Set(['shortcuts']);
  const live = make('div', {id: 'live', class: 'hidden', 'aria-live': 'polite'});
  const main = make('main', {id: 'main', tabindex: '-1'});
  const header = make('header', {});
  const footer = make('footer', {});

  function navigation() {
    const {t, state, page} = headwise;
    const now = state.get().view;
    const any = headwise.heads.kept.length > 0;
    const views = ['grid', any && 'scatter', any && 'head',
      any && headwise.changes.any && 'changes', any && headwise.documents.several && 'texts',
      headwise.through.names(page).length > 0 && 'through',
      page.trace.length > 0 && 'trace'].filter(Boolean);
    return make('nav', {'aria-label': t('Views')}, views.map(view => make('button', {
      type: 'button', id: 'view-' + view, 'aria-current': view === now ? 'page' : null,
      onclick: () => state.set({view}),
    }, t('shell.' + view))));
  }

  function settings() {
    const {t, chooser, dialogs, words} = headwise;
    return make('div', {class: 'settings', role: 'group', 'aria-label': t('Settings')},
        headwise.toggler('table', t('Show as tables')),
        button('open-search', t('Find token'), dialogs.search),
        button('open-export', t('Export'), dialogs.exporting),
        chooser('palette', t('Colours'), headwise.palette.names.map(
            name => [name, t('palette.' + name)])),
        chooser('theme', t('Theme'), [['', t('system')],
          ['light', t('light')], ['dark', t('dark')]]),
        chooser('lang', t('Language'), words.languages(), {value: words.language()}),
        button('open-help', t('Help'), dialogs.help));
  }

  function drawHeader() {
    const {t, tokens, page} = headwise;
    const named = page.model && page.model.replace(/\/+$/, '').split('/').pop();
    const {title} = headwise.file;
    const kind = t('shell.kind_' + page.kind);
    const about = [named === title ? null : page.model,
      title.toLowerCase() === kind ? null : kind,
      page.batch && t('sequence {0} of {1}', page.batch.sequence + 1, page.batch.sequences),
      t(page.head_dim ? 'shell.sizes' : 'shell.lengths', page.num_queries, page.num_keys,
          page.head_dim)];
    headwise.dom.put(header,
        make('a', {href: '#main', class: 'skip', onclick: event => {
          event.preventDefault();
          main.focus();
        }}, t('Skip to the content')),
        make('div', {class: 'heading'}, make('h1', {}, tokens.node(headwise.file.title, true)),
            make('p', {class: 'note'}, about.filter(Boolean).map(
                (text, n) => [n ? ' \u00b7 ' : '', tokens.node(text, true)])),
            page.text && make('p', {class: 'text', title: tokens.visible(page.text)},
                tokens.node(page.text, true)),
            headwise.documentTools.tools()),
        make('div', {class: 'bar-top'}, navigation(),
            headwise.fold('fold-settings', t('Settings'), settings())));
  }

  function drawFooter() {
    const {t, tokens, file: {command, generator}} = headwise;
    headwise.dom.put(footer,
        command && make('p', {}, t('shell.again'), ' ', make('code', {}, tokens.visible(command))),
        make('p', {}, tokens.visible(generator)));
  }

  function view() {
    const {state} = headwise;
    const views = {grid: headwise.grid.view, scatter: headwise.scatter.view,
                   changes: headwise.changes.view, through: headwise.through.view,
                   head: headwise.headView,
                   texts: headwise.texts.view, trace: headwise.trace.view};
    return views[state.get().view]();
  }

  // Draws everything and leaves the focus where it was, by id.
  function draw(moved) {
    const {state} = headwise;
    const focused = document.activeElement ? document.activeElement.id : '';
    document.documentElement.lang = headwise.words.language();
    headwise.theme.apply();
    headwise.pick.reset();
    headwise.current = {heads: [], matrices: [], lines: null};
    headwise.failure.draw();
    drawHeader();
    drawFooter();
    headwise.dom.put(main, view());
    const node = moved ? null : document.getElementById(focused);
    if (moved) enterView();
    else if (node && node !== document.activeElement) node.focus({preventScroll: true});
  }

  // Puts the focus where the keys of the view work: on the cells of a head, on the current
  // head among others, in a table too, or else on the title.
  function enterView() {
    const {view: name, layer, head, document: number} = headwise.state.get();
    const {[name]: id} = {head: 'cells', grid: `head-${layer}-${head}`, texts: `text-${number}`};
    const node = (id && document.getElementById(id)) ||
        main.querySelector(':is(.point, .card, .link)[tabindex="0"]') ||
        document.getElementById('view-title');
    // Among many cards or rows, the focused one is scrolled to.
    node.focus({preventScroll: name !== 'grid' && !node.matches('.link')});
  }

  function changed(names) {
    const all = [...names].filter(name => !NOT_DRAWN.has(name));
    if (all.length === 0) return;
    if (all.every(name => PAIR.has(name))) {
      const panel = document.getElementById('elements');
      if (panel) panel.replaceWith(headwise.elements.panel(headwise.state.head()));
      headwise.pick.tell();
      return;
    }
    if (names.has('view')) window.scrollTo(0, 0);
    draw(names.has('view') && document.activeElement !== document.body);
  }

  function watchWidth() {
    let width = document.documentElement.clientWidth;
    let timer = 0;
    window.addEventListener('resize', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (document.documentElement.clientWidth === width) return;
        width = document.documentElement.clientWidth;
        draw(false);
      }, 150);
    });
  }

  async function begin() {
    const app = document.getElementById('app');
    try {
      await headwise.state.begin();
    } catch (error) {
      headwise.dom.put(app, make('p', {role: 'alert'}, headwise.failure.text(error)));
      return;
    }
    headwise.failure.watch();
    app.replaceChildren(
        header, headwise.failure.node, main, footer, live);
    headwise.state.on(changed);
    headwise.keyboard.begin();
    headwise.theme.watch(() => draw(false));
    watchWidth();
    draw(false);
  }

  headwise.live = {say: text => { live.textContent = text; }};
  headwise.enterView = enterView;
  headwise.begin = begin;
}
